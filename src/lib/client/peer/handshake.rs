//! How two nodes come to trust each other. Frames carry a length of 4 bytes and one message:
//!
//! | from | message | what |
//! |---|---|---|
//! | dialer | `Hello` | who it is, whom it wants, its cluster, what for, 32 random bytes |
//! | listener | `Challenge` | who it is, its cluster, which process, 32 random bytes |
//! | dialer | `Proof` | HMAC-SHA-256 under the secret of a label and both messages above |
//! | listener | `Verdict` | 0 and the same with another label, or why not |
//!
//! The dialer proves first, so nobody gets anything made with the secret who does not know it. Who is refused after its proof learns why.
//! What follows on the connection is neither encrypted nor signed: the secret keeps strangers out, not those who sit on the wire.
//! Must never know what a connection is used for.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Lane, PeerError, Refused};
use crate::types::{BrokerId, Uuid, limits};
use crate::wire::codec::{DecodeError, Reader, Version, Wire, Writer, message};

const MAGIC: &str = "klog";
const VERSION: i16 = 1;
const NONCE_LEN: usize = 32;
const ACCEPTED: i8 = 0;
/// Who has no node id: somebody with the secret, such as the launcher.
const OPERATOR: i32 = -1;
const ENCODING: Version = Version { number: 0, flexible: true };

message! {
    Hello {
        magic: String => 0.., version: i16 => 0.., from: i32 => 0.., to: i32 => 0.., cluster: Uuid => 0.., lane: i8 => 0.., nonce: Bytes => 0..,
    }
    Challenge { from: i32 => 0.., cluster: Uuid => 0.., incarnation: Uuid => 0.., nonce: Bytes => 0.. }
    Proof { mac: Bytes => 0.. }
    Verdict { outcome: i8 => 0.., mac: Bytes => 0.. }
}

/// What the nodes of one cluster know and nobody else.
#[derive(Clone)]
pub struct Secret(Arc<[u8]>);

impl Secret {
    /// Any text but none.
    pub fn new(text: &str) -> Option<Secret> {
        (!text.is_empty()).then(|| Secret(text.as_bytes().into()))
    }

    fn mac(&self, label: &str, hello: &[u8], challenge: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(label.as_bytes());
        for part in [hello, challenge] {
            mac.update(&u32::try_from(part.len()).expect("these are short").to_be_bytes());
            mac.update(part);
        }
        mac
    }

    fn proof(&self, label: &str, hello: &[u8], challenge: &[u8]) -> Bytes {
        Bytes::copy_from_slice(&self.mac(label, hello, challenge).finalize().into_bytes())
    }

    /// Takes the same time for every wrong proof.
    fn check(&self, label: &str, hello: &[u8], challenge: &[u8], proof: &[u8]) -> Result<(), Refused> {
        self.mac(label, hello, challenge).verify_slice(proof).map_err(|_| Refused::Secret)
    }
}

/// It must not get into any log.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

const DIALER: &str = "klog dialer 1";
const LISTENER: &str = "klog listener 1";

/// What one side brings to a handshake.
#[derive(Clone, Debug)]
pub struct Door {
    /// Its number; `None` for somebody who is no node.
    pub me: Option<BrokerId>,
    /// Its cluster; [`Uuid::ZERO`] while it knows none, and then any will do.
    pub cluster: Uuid,
    /// Names its process among all that were the same node; only the listening side tells it.
    pub incarnation: Uuid,
    /// The secret.
    pub secret: Secret,
}

/// Who came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The node; `None` for somebody else with the secret.
    pub peer: Option<BrokerId>,
    /// What it wants the connection for.
    pub lane: Lane,
}

/// Whom we have reached.
#[derive(Debug)]
pub struct Met {
    /// The connection, at what follows the handshake.
    pub stream: TcpStream,
    /// Names the process among all that were that node.
    pub incarnation: Uuid,
}

/// Connects to a node and proves who we are. There is no deadline here: a paused node answers when it runs again.
pub async fn dial(address: &str, to: BrokerId, lane: Lane, door: &Door) -> Result<Met, PeerError> {
    let connected = TcpStream::connect(address).await;
    let mut stream = connected.map_err(|source| PeerError::Connect { address: address.to_owned(), source })?;
    let _ = stream.set_nodelay(true);
    let hello = encode(&Hello {
        magic: MAGIC.to_owned(),
        version: VERSION,
        from: door.me.map_or(OPERATOR, BrokerId::get),
        to: to.get(),
        cluster: door.cluster,
        lane: lane.number(),
        nonce: nonce(),
    });
    send(&mut stream, &hello).await?;
    let challenge = receive(&mut stream).await?;
    let listener: Challenge = decode(&challenge)?;
    if listener.nonce.len() != NONCE_LEN {
        return Err(DecodeError::BadLength.into());
    }
    let proof = Proof { mac: door.secret.proof(DIALER, &hello, &challenge) };
    send(&mut stream, &encode(&proof)).await?;
    let verdict: Verdict = decode(&receive(&mut stream).await?)?;
    if verdict.outcome != ACCEPTED {
        return Err(Refused::of(verdict.outcome).unwrap_or(Refused::Version).into());
    }
    door.secret.check(LISTENER, &hello, &challenge, &verdict.mac)?;
    if listener.from != to.get() {
        return Err(Refused::Node.into());
    }
    check_cluster(door.cluster, listener.cluster)?;
    Ok(Met { stream, incarnation: listener.incarnation })
}

/// Lets the other side of a connection prove who it is. The caller sets a deadline: a stranger may say nothing for ever.
pub async fn admit(stream: &mut TcpStream, me: BrokerId, door: &Door) -> Result<Admitted, PeerError> {
    let hello = receive(stream).await?;
    let dialer: Hello = decode(&hello)?;
    if dialer.magic != MAGIC || dialer.nonce.len() != NONCE_LEN {
        return Err(DecodeError::BadLength.into());
    }
    let challenge = encode(&Challenge { from: me.get(), cluster: door.cluster, incarnation: door.incarnation, nonce: nonce() });
    send(stream, &challenge).await?;
    let proof: Proof = decode(&receive(stream).await?)?;
    let judged = door.secret.check(DIALER, &hello, &challenge, &proof.mac).and_then(|()| admit_judge(me, door.cluster, &dialer));
    let verdict = match &judged {
        Ok(_) => Verdict { outcome: ACCEPTED, mac: door.secret.proof(LISTENER, &hello, &challenge) },
        Err(refused) => Verdict { outcome: refused.number(), mac: Bytes::new() },
    };
    send(stream, &encode(&verdict)).await?;
    Ok(judged?)
}

/// Whether one who knows the secret may come in.
fn admit_judge(me: BrokerId, cluster: Uuid, dialer: &Hello) -> Result<Admitted, Refused> {
    let lane = Lane::of(dialer.lane).filter(|_| dialer.version == VERSION).ok_or(Refused::Version)?;
    if dialer.to != me.get() {
        return Err(Refused::Node);
    }
    if dialer.from == me.get() {
        return Err(Refused::Same);
    }
    check_cluster(cluster, dialer.cluster)?;
    Ok(Admitted { peer: BrokerId::new(dialer.from), lane })
}

/// A node that knows no cluster yet may join any whose secret it has.
fn check_cluster(ours: Uuid, theirs: Uuid) -> Result<(), Refused> {
    let fits = ours == theirs || ours == Uuid::ZERO || theirs == Uuid::ZERO;
    fits.then_some(()).ok_or(Refused::Cluster)
}

fn nonce() -> Bytes {
    let mut nonce = [0; NONCE_LEN];
    getrandom::fill(&mut nonce).expect("the system always has randomness");
    Bytes::copy_from_slice(&nonce)
}

fn encode(message: &impl Wire) -> Bytes {
    let mut out = Writer::default();
    message.put(ENCODING, &mut out);
    out.bytes.into()
}

fn decode<M: Wire>(bytes: &Bytes) -> Result<M, DecodeError> {
    M::get(ENCODING, &mut Reader::new(bytes.clone()))
}

async fn send(stream: &mut TcpStream, message: &[u8]) -> Result<(), PeerError> {
    let mut frame = u32::try_from(message.len()).expect("these are short").to_be_bytes().to_vec();
    frame.extend_from_slice(message);
    Ok(stream.write_all(&frame).await?)
}

/// Reads one message and not a byte more, for what follows belongs to others.
async fn receive(stream: &mut TcpStream) -> Result<Bytes, PeerError> {
    let len = stream.read_u32().await?;
    let len = usize::try_from(len).ok().filter(|len| *len <= limits::HANDSHAKE_BYTES_MAX).ok_or(DecodeError::BadLength)?;
    let mut message = vec![0; len];
    stream.read_exact(&mut message).await?;
    Ok(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::net::TcpListener;

    fn id(number: i32) -> BrokerId {
        BrokerId::new(number).expect("not negative")
    }

    fn door(me: i32, cluster: u8, secret: &str) -> Door {
        let cluster = if cluster == 0 { Uuid::ZERO } else { Uuid::from_random([cluster; 16]) };
        Door { me: BrokerId::new(me), cluster, incarnation: Uuid::ZERO, secret: Secret::new(secret).expect("a secret") }
    }

    type Outcome = (Result<(), PeerError>, Result<Admitted, PeerError>);

    /// What both sides make of each other; the listener is node 2.
    async fn meet(dialer: Door, to: i32, listener: Door) -> Outcome {
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let address = socket.local_addr().expect("is bound").to_string();
        let accepting = async {
            let (mut stream, _) = socket.accept().await.expect("accepts");
            admit(&mut stream, id(2), &listener).await
        };
        let dialing = async { dial(&address, id(to), Lane::Fetch, &dialer).await.map(drop) };
        tokio::join!(dialing, accepting)
    }

    #[tokio::test]
    async fn those_who_know_the_secret_meet() {
        let check = |got: Outcome, peer| {
            let (dialed, admitted) = got;
            dialed.expect("is let in");
            assert_eq!(admitted.expect("is let in"), Admitted { peer, lane: Lane::Fetch });
        };
        check(meet(door(1, 7, "s"), 2, door(2, 7, "s")).await, Some(id(1)));
        check(meet(door(1, 0, "s"), 2, door(2, 7, "s")).await, Some(id(1)));
        check(meet(door(-1, 0, "s"), 2, door(2, 7, "s")).await, None);
    }

    #[tokio::test]
    async fn everybody_else_is_refused_on_both_sides() {
        for (dialer, to, listener, why) in [
            (door(1, 7, "s"), 2, door(2, 7, "t"), Refused::Secret),
            (door(1, 7, "s"), 2, door(2, 8, "s"), Refused::Cluster),
            (door(1, 7, "s"), 3, door(2, 7, "s"), Refused::Node),
            (door(2, 7, "s"), 2, door(2, 7, "s"), Refused::Same),
        ] {
            let (dialed, admitted) = meet(dialer, to, listener).await;
            assert!(matches!(dialed, Err(PeerError::Refused(refused)) if refused == why), "{dialed:?}");
            assert!(matches!(admitted, Err(PeerError::Refused(refused)) if refused == why), "{admitted:?}");
        }
    }

    /// A listener that does not know the secret accepts everybody; the dialer must not believe it.
    #[tokio::test]
    async fn a_listener_must_prove_itself_too() {
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let address = socket.local_addr().expect("is bound").to_string();
        let accepting = async {
            let (mut stream, _) = socket.accept().await.expect("accepts");
            receive(&mut stream).await.expect("a hello");
            send(&mut stream, &encode(&Challenge { from: 2, nonce: nonce(), ..Challenge::default() })).await.expect("sends");
            let proof: Proof = decode(&receive(&mut stream).await.expect("a proof")).expect("decodes");
            // What it was just shown is the best that it has.
            send(&mut stream, &encode(&Verdict { outcome: ACCEPTED, mac: proof.mac })).await.expect("sends");
        };
        let door = door(1, 7, "s");
        let (dialed, ()) = tokio::join!(dial(&address, id(2), Lane::Raft, &door), accepting);
        assert!(matches!(dialed, Err(PeerError::Refused(Refused::Secret))), "{dialed:?}");
    }

    #[tokio::test]
    async fn garbage_and_giants_are_turned_away() {
        let oversized = u32::MAX.to_be_bytes().to_vec();
        let garbage = [&[0, 0, 0, 8][..], b"whatever"].concat();
        let http = b"GET / HTTP/1.1\r\n\r\n".to_vec();
        let foreign = {
            let hello = Hello { magic: "kafka".to_owned(), nonce: nonce(), ..Hello::default() };
            let hello = encode(&hello);
            [&u32::try_from(hello.len()).expect("short").to_be_bytes()[..], &hello].concat()
        };
        for bytes in [oversized, garbage, http, foreign] {
            let socket = TcpListener::bind("127.0.0.1:0").await.expect("binds");
            let mut stranger = TcpStream::connect(socket.local_addr().expect("is bound")).await.expect("connects");
            stranger.write_all(&bytes).await.expect("writes");
            let (mut stream, _) = socket.accept().await.expect("accepts");
            let listener = door(2, 7, "s");
            let admitted = tokio::time::timeout(Duration::from_secs(10), admit(&mut stream, id(2), &listener)).await;
            assert!(matches!(admitted, Ok(Err(PeerError::Malformed(_)))), "{admitted:?}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = Secret::new("hunter2").expect("a secret");
        assert!(!format!("{:?}", Door { me: None, cluster: Uuid::ZERO, incarnation: Uuid::ZERO, secret }).contains("hunter2"));
        assert!(Secret::new("").is_none());
    }
}
