//! The table of API keys: which this node serves, in which versions, and who answers.
//! Owns the way from a frame to a handler and back to bytes; must never know what an answer says.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use crate::os::FileSlice;
use crate::wire::api::ApiKey;
use crate::wire::api::k18_api_versions::{ApiVersionsResponse, ResponseApiKey};
use crate::wire::codec::{Reader, Wire};
use crate::wire::header::RequestHeader;

use super::context::Context;
use super::handlers::*;
use super::outbox::Answers;
use super::turn::Turn;

mod forward;
mod inside;

/// The request cannot be answered: the connection is closed (P11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close;

/// An answer that is still in work.
pub type Later = Pin<Box<dyn Future<Output = Result<Answers, Close>> + Send>>;

/// An answer, and the regions of files that belong into its gaps.
#[derive(Debug)]
pub struct Answer<R> {
    /// The message.
    pub response: R,
    /// What its `Records::Elsewhere` count.
    pub slices: Vec<FileSlice>,
}

impl<R> From<R> for Answer<R> {
    fn from(response: R) -> Self {
        Answer { response, slices: Vec::new() }
    }
}

/// What a handler that works in place comes to: the two hot keys have such, so that a request which need not wait costs no task and no
/// allocation.
pub enum Step<R> {
    /// The answer is there.
    Done(Answer<R>),
    /// No answer is awaited.
    Silent,
    /// The connection is to be closed instead of an answer.
    Close,
    /// The answer needs others.
    Later(Pin<Box<dyn Future<Output = Answer<R>> + Send>>),
}

/// How far a request came in place.
pub enum Begun {
    /// It is answered, or wants no answer.
    Done,
    /// Its answer needs more than one step; until then no other request of the connection is begun.
    InWork(Later),
    /// The same, but all that it does is done and only the answer waits: others like it may be begun meanwhile.
    Waits(Later),
}

/// `Name module MIN..=MAX;`: the key's name, the handler's module, and the versions that are advertised. A handler's `begin` answers in
/// place where it can, one in turn together with those like it; a handler's `handle` is awaited.
macro_rules! served {
    (
        in turn { $($turn_name:ident $turn_module:ident $turn_min:literal..=$turn_max:literal;)* }
        in place { $($place_name:ident $place_module:ident $place_min:literal..=$place_max:literal;)* }
        $($name:ident $module:ident $min:literal..=$max:literal;)*
    ) => {
        /// What ApiVersions tells: the same on every node of a cluster (P13), and a key only where its handler is.
        pub const SERVED: &[ResponseApiKey] = &[
            $(ResponseApiKey { api_key: ApiKey::$turn_name as i16, min_version: $turn_min, max_version: $turn_max },)*
            $(ResponseApiKey { api_key: ApiKey::$place_name as i16, min_version: $place_min, max_version: $place_max },)*
            $(ResponseApiKey { api_key: ApiKey::$name as i16, min_version: $min, max_version: $max }),*
        ];

        fn begin_known(cx: &Arc<Context>, request: Decoding, out: &mut Answers, turn: &mut Turn) -> Result<Begun, Close> {
            match request.api {
                $(ApiKey::$turn_name => served!(@in_turn $turn_module, cx, request, out, turn),)*
                $(ApiKey::$place_name => served!(@in_place $place_module, cx, request, out),)*
                $(ApiKey::$name => served!(@awaited $module, cx, request, out),)*
                // Keys that we can decode but do not serve.
                _ => Err(Close),
            }
        }
    };
    (@in_turn $module:ident, $cx:ident, $request:ident, $out:ident, $turn:ident) => {{
        let (place, request) = $request.decode()?;
        place.take($module::begin($cx, place.version, request, $turn), $out)
    }};
    (@in_place $module:ident, $cx:ident, $request:ident, $out:ident) => {{
        let (place, request) = $request.decode()?;
        place.take($module::begin($cx, place.version, request), $out)
    }};
    (@awaited $module:ident, $cx:ident, $request:ident, $out:ident) => {{
        let cx = $cx.clone();
        let (place, request) = $request.decode()?;
        Ok(Begun::InWork(Box::pin(async move {
            let response = $module::handle(&cx, place.version, request).await;
            let mut answers = Answers::default();
            place.put(&Answer::from(response), &mut answers);
            Ok(answers)
        })))
    }};
}

served! {
    in turn {
        Produce k00_produce 0..=13;
    }
    in place {
        Fetch k01_fetch 4..=18;
    }
    ListOffsets k02_list_offsets 1..=11;
    Metadata k03_metadata 0..=13;
    OffsetCommit k08_offset_commit 2..=10;
    OffsetFetch k09_offset_fetch 1..=10;
    FindCoordinator k10_find_coordinator 0..=6;
    JoinGroup k11_join_group 0..=9;
    Heartbeat k12_heartbeat 0..=4;
    LeaveGroup k13_leave_group 0..=5;
    SyncGroup k14_sync_group 0..=5;
    DescribeGroups k15_describe_groups 0..=6;
    ListGroups k16_list_groups 0..=5;
    ApiVersions k18_api_versions 0..=4;
    CreateTopics k19_create_topics 2..=7;
    DeleteTopics k20_delete_topics 1..=6;
    DeleteRecords k21_delete_records 0..=2;
    InitProducerId k22_init_producer_id 0..=5;
    OffsetForLeaderEpoch k23_offset_for_leader_epoch 2..=4;
    DescribeAcls k29_describe_acls 1..=3;
    CreateAcls k30_create_acls 1..=3;
    DeleteAcls k31_delete_acls 1..=3;
    DescribeConfigs k32_describe_configs 1..=4;
    AlterConfigs k33_alter_configs 0..=2;
    DescribeLogDirs k35_describe_log_dirs 1..=5;
    CreatePartitions k37_create_partitions 0..=3;
    DeleteGroups k42_delete_groups 0..=2;
    ElectLeaders k43_elect_leaders 0..=2;
    IncrementalAlterConfigs k44_incremental_alter_configs 0..=1;
    AlterPartitionReassignments k45_alter_partition_reassignments 0..=1;
    ListPartitionReassignments k46_list_partition_reassignments 0..=0;
    OffsetDelete k47_offset_delete 0..=0;
    DescribeQuorum k55_describe_quorum 0..=2;
    DescribeCluster k60_describe_cluster 0..=2;
    DescribeProducers k61_describe_producers 0..=0;
    UnregisterBroker k64_unregister_broker 0..=0;
    ListConfigResources k74_list_config_resources 0..=1;
    DescribeTopicPartitions k75_describe_topic_partitions 0..=0;
}

/// Which answer a request wants.
#[derive(Clone, Copy)]
struct Place {
    api: ApiKey,
    version: i16,
    correlation_id: i32,
}

impl Place {
    fn put<R: Wire>(self, answer: &Answer<R>, out: &mut Answers) {
        out.put(self.api, self.version, self.correlation_id, &answer.response, &answer.slices);
    }

    fn take<R: Wire + 'static>(self, step: Step<R>, out: &mut Answers) -> Result<Begun, Close> {
        match step {
            Step::Done(answer) => self.put(&answer, out),
            Step::Silent => (),
            Step::Close => return Err(Close),
            Step::Later(later) => {
                let later: Later = Box::pin(async move {
                    let mut answers = Answers::default();
                    self.put(&later.await, &mut answers);
                    Ok(answers)
                });
                return Ok(if self.api == ApiKey::Produce { Begun::Waits(later) } else { Begun::InWork(later) });
            }
        }
        Ok(Begun::Done)
    }
}

/// A request whose header is read and whose body is not.
struct Decoding {
    api: ApiKey,
    place: Place,
    body: Reader,
}

impl Decoding {
    /// Reads the body. Bytes after it are ignored, a body cut short closes the connection (protocol §4.6.1).
    fn decode<R: Wire>(mut self) -> Result<(Place, R), Close> {
        let request = R::get(self.api.version(self.place.version), &mut self.body).map_err(|_| Close)?;
        Ok((self.place, request))
    }
}

/// Begins to serve one request; an answer that is ready at once is written to `out`.
pub fn begin(cx: &mut Arc<Context>, frame: Bytes, out: &mut Answers, turn: &mut Turn) -> Result<Begun, Close> {
    let mut body = Reader::new(frame);
    let header = RequestHeader::read(&mut body).map_err(|_| Close)?;
    let RequestHeader { key, version, correlation_id, client_id } = header;
    let client_id = client_id.unwrap_or_default();
    if *cx.client_id != *client_id {
        *cx = Arc::new(Context { client_id: client_id.into(), ..Context::clone(cx) });
    }
    let api = ApiKey::try_from(key).map_err(|_| Close)?;
    if cx.inside && inside::serves(api) {
        api.checked_version(version).map_err(|_| Close)?;
        return inside::begin(cx, Decoding { api, place: Place { api, version, correlation_id }, body }, out);
    }
    let served = SERVED.iter().find(|served| served.api_key == key).ok_or(Close)?;
    let known = api.checked_version(version).is_ok() && served.min_version <= version && version <= served.max_version;
    match (known, api) {
        // What this node knows may be over, and a client that is connected to no other node would ask it for ever.
        (true, ApiKey::Metadata) if cx.node.quorum.is_cut_off() => Err(Close),
        (true, _) if forward::is_forwarded(api) => {
            let frame = body.frame().clone();
            Ok(Begun::InWork(Box::pin(forward::serve(cx.clone(), frame))))
        }
        (true, _) => begin_known(cx, Decoding { api, place: Place { api, version, correlation_id }, body }, out, turn),
        (false, ApiKey::ApiVersions) => {
            let response: ApiVersionsResponse = k18_api_versions::unknown_version(served);
            out.put(api, 0, correlation_id, &response, &[]);
            Ok(Begun::Done)
        }
        (false, _) => Err(Close),
    }
}

/// Begins to serve a request that was found good before, whoever the controller is.
fn begin_here(cx: &Arc<Context>, frame: Bytes, out: &mut Answers) -> Result<Begun, Close> {
    let mut body = Reader::new(frame);
    let RequestHeader { key, version, correlation_id, client_id } = RequestHeader::read(&mut body).map_err(|_| Close)?;
    let api = ApiKey::try_from(key).map_err(|_| Close)?;
    let served = SERVED.iter().find(|served| served.api_key == key).ok_or(Close)?;
    if !forward::is_forwarded(api) || version < served.min_version || served.max_version < version {
        return Err(Close);
    }
    let cx = Arc::new(Context { client_id: client_id.unwrap_or_default().into(), ..Context::clone(cx) });
    begin_known(&cx, Decoding { api, place: Place { api, version, correlation_id }, body }, out, &mut Turn::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_rise_and_versions_can_be_decoded() {
        for pair in SERVED.windows(2) {
            assert!(pair[0].api_key < pair[1].api_key);
        }
        for served in SERVED {
            let (first, last) = ApiKey::try_from(served.api_key).expect("a key of ours").versions();
            assert!(served.max_version <= last);
            // Produce alone tells a first version that it refuses (P1).
            assert!(first <= served.min_version || served.api_key == 0);
        }
    }
}
