//! Ports, taken by binding them and never by probing: whoever holds the socket has the port. Owns which ports are free to choose from,
//! and who has one that is taken; must never know what listens there.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;

use super::process;

/// The address that local clusters live on.
pub const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Ports below are for services that people know by number.
const FREE_FROM: u16 = 20_000;
/// How often another number is tried.
const TRIES_MAX: u32 = 200;
/// Descriptors below are for the node's own numbering: see [`Bound::fd`].
const DESCRIPTORS_FROM: i32 = 10;

/// A bound socket that is not served yet. Connections to it wait; dropped, they are refused.
#[derive(Debug)]
pub struct Bound {
    /// The socket, numbered so high that it is none of the descriptors under which a node gets it.
    pub fd: OwnedFd,
    /// Its port.
    pub port: u16,
}

/// Why a port could not be had.
#[derive(Debug)]
pub enum PortError {
    /// Somebody has it.
    Taken {
        /// Who, where that can be seen.
        holder: Option<String>,
    },
    /// The system said something else.
    Io(io::Error),
}

/// Takes this port.
pub fn take(port: u16) -> Result<Bound, PortError> {
    match bind(port) {
        Ok(bound) => Ok(bound),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(PortError::Taken { holder: holder(port).map(process::described) }),
        Err(error) => Err(PortError::Io(error)),
    }
}

/// Takes a free port. It lies outside the range that the system gives to connections that leave: a dead node's port could otherwise be lent
/// to a client, which would keep the node from coming back, or even connect to itself and take the dead node for living.
pub fn take_free() -> Result<Bound, PortError> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let lent_from = range.split_whitespace().next().and_then(|first| first.parse::<u16>().ok()).unwrap_or(FREE_FROM);
    let width = lent_from.saturating_sub(FREE_FROM);
    for _ in 0..if width == 0 { 0 } else { TRIES_MAX } {
        let mut noise = [0; 2];
        getrandom::fill(&mut noise).map_err(|error| PortError::Io(io::Error::other(error)))?;
        match bind(FREE_FROM + u16::from_ne_bytes(noise) % width) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => (),
            bound => return bound.map_err(PortError::Io),
        }
    }
    // A machine that lends nearly all ports, or uses nearly all others.
    bind(0).map_err(PortError::Io)
}

fn bind(port: u16) -> io::Result<Bound> {
    // SO_REUSEADDR is set by the standard library, so connections of the node that had the port before do not keep it.
    let listener = TcpListener::bind((HOST, port))?;
    let port = listener.local_addr()?.port();
    Ok(Bound { fd: rustix::io::fcntl_dupfd_cloexec(&listener, DESCRIPTORS_FROM)?, port })
}

/// The process that listens on a port, where we may look into it.
pub fn holder(port: u16) -> Option<i32> {
    let inodes: Vec<u64> = listening().into_iter().filter(|(taken, _)| *taken == port).map(|(_, inode)| inode).collect();
    let processes = fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    processes.into_iter().find(|pid| sockets(*pid).iter().any(|(_, inode)| inodes.contains(inode)))
}

/// The port behind a descriptor of a process.
pub fn port_of(pid: i32, descriptor: i32) -> Option<u16> {
    let (_, inode) = sockets(pid).into_iter().find(|(number, _)| *number == descriptor)?;
    listening().into_iter().find(|(_, listened)| *listened == inode).map(|(port, _)| port)
}

/// Every listening TCP port of this machine with its socket's inode.
fn listening() -> Vec<(u16, u64)> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    tables.iter().flat_map(|table| table.lines()).filter_map(parse_listening).collect()
}

/// `  0: 0100007F:2384 00000000:0000 0A … uid timeout inode`; state 0A is LISTEN.
fn parse_listening(line: &str) -> Option<(u16, u64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, port) = fields.get(1)?.rsplit_once(':')?;
    (*fields.get(3)? == "0A").then_some(())?;
    Some((u16::from_str_radix(port, 16).ok()?, fields.get(9)?.parse().ok()?))
}

/// The sockets that a process has open: descriptor and inode.
fn sockets(pid: i32) -> Vec<(i32, u64)> {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let socket = |entry: fs::DirEntry| {
        let leads_to = fs::read_link(entry.path()).ok()?;
        let inode = leads_to.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        Some((entry.file_name().to_str()?.parse().ok()?, inode))
    };
    open.filter_map(|entry| socket(entry.ok()?)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_taken_port_names_its_holder() {
        let bound = take_free().unwrap();
        let me = std::process::id().cast_signed();
        assert!(DESCRIPTORS_FROM <= bound.fd.as_raw_fd());
        assert_eq!(holder(bound.port), Some(me));
        assert_eq!(port_of(me, bound.fd.as_raw_fd()), Some(bound.port));
        let Err(PortError::Taken { holder }) = take(bound.port) else { panic!("taken twice") };
        assert!(holder.unwrap().starts_with(&format!("process {me} (")));
        let port = bound.port;
        drop(bound);
        assert_eq!(take(port).unwrap().port, port);
    }

    #[test]
    fn lines_of_the_kernels_table() {
        let line = "   3: 0100007F:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77310 1 0";
        assert_eq!(parse_listening(line), Some((9092, 77310)));
        assert_eq!(parse_listening(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(parse_listening("  sl  local_address rem_address   st"), None);
    }
}
