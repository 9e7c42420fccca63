//! Every message, a file per API key, and the one table of keys, names and versions.
//! Fields carry Kafka's own names; what they mean stands in Kafka's protocol guide.
#![allow(missing_docs)]

use bytes::Bytes;

use super::codec::{DecodeError, Reader, Version, Wire, Writer};

pub mod k00_produce;
pub mod k01_fetch;
pub mod k02_list_offsets;
pub mod k03_metadata;
pub mod k08_offset_commit;
pub mod k09_offset_fetch;
pub mod k10_find_coordinator;
pub mod k11_join_group;
pub mod k12_heartbeat;
pub mod k13_leave_group;
pub mod k14_sync_group;
pub mod k15_describe_groups;
pub mod k16_list_groups;
pub mod k17_sasl_handshake;
pub mod k18_api_versions;
pub mod k19_create_topics;
pub mod k20_delete_topics;
pub mod k21_delete_records;
pub mod k22_init_producer_id;
pub mod k23_offset_for_leader_epoch;
pub mod k24_add_partitions_to_txn;
pub mod k25_add_offsets_to_txn;
pub mod k26_end_txn;
pub mod k27_write_txn_markers;
pub mod k28_txn_offset_commit;
pub mod k29_describe_acls;
pub mod k30_create_acls;
pub mod k31_delete_acls;
pub mod k32_describe_configs;
pub mod k33_alter_configs;
pub mod k34_alter_replica_log_dirs;
pub mod k35_describe_log_dirs;
pub mod k36_sasl_authenticate;
pub mod k37_create_partitions;
pub mod k42_delete_groups;
pub mod k43_elect_leaders;
pub mod k44_incremental_alter_configs;
pub mod k45_alter_partition_reassignments;
pub mod k46_list_partition_reassignments;
pub mod k47_offset_delete;
pub mod k48_describe_client_quotas;
pub mod k49_alter_client_quotas;
pub mod k50_describe_user_scram_credentials;
pub mod k51_alter_user_scram_credentials;
pub mod k55_describe_quorum;
pub mod k57_update_features;
pub mod k60_describe_cluster;
pub mod k61_describe_producers;
pub mod k64_unregister_broker;
pub mod k65_describe_transactions;
pub mod k66_list_transactions;
pub mod k68_consumer_group_heartbeat;
pub mod k69_consumer_group_describe;
pub mod k74_list_config_resources;
pub mod k75_describe_topic_partitions;
pub mod k80_add_raft_voter;
pub mod k81_remove_raft_voter;

pub mod k30000_raft;
pub mod k30001_control;
pub mod k30002_forward;
pub mod k30003_faults;

/// A request, and which answer it gets.
pub trait Request: Wire + Default {
    /// Its key.
    const KEY: ApiKey;
    /// Its answer.
    type Response: Wire + Default;
}

/// `KEY Name module Request Response FIRST..=LAST flexible FROM;` with the versions that Kafka 4.3 decodes. `inside` are our own, which
/// nodes of a cluster ask each other and no client ever sees; they have one version, a flexible one.
macro_rules! apis {
    (
        $($key:literal $name:ident $module:ident $request:ident $response:ident $min:literal..=$max:literal flexible $flexible:tt;)*
        inside { $($own_key:literal $own_name:ident $own_module:ident $own_request:ident $own_response:ident;)* }
    ) => {
        /// An API that klog can encode and decode.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        pub enum ApiKey { $($name = $key,)* $($own_name = $own_key),* }

        impl ApiKey {
            /// All of Kafka's, in rising order of key.
            pub const ALL: &[ApiKey] = &[$(ApiKey::$name),*];

            /// Kafka's name of the API.
            pub fn name(self) -> &'static str {
                match self { $(ApiKey::$name => stringify!($name),)* $(ApiKey::$own_name => stringify!($own_name)),* }
            }

            /// The versions that can be encoded and decoded, first and last.
            pub fn versions(self) -> (i16, i16) {
                match self { $(ApiKey::$name => ($min, $max),)* $(ApiKey::$own_name => (0, 0)),* }
            }

            fn flexible_from(self) -> i16 {
                match self { $(ApiKey::$name => apis!(@flexible $flexible),)* $(ApiKey::$own_name => 0),* }
            }
        }

        impl TryFrom<i16> for ApiKey {
            type Error = UnknownApiKey;
            fn try_from(key: i16) -> Result<Self, UnknownApiKey> {
                match key {
                    $($key => Ok(ApiKey::$name),)*
                    $($own_key => Ok(ApiKey::$own_name),)*
                    _ => Err(UnknownApiKey(key)),
                }
            }
        }

        $(impl Request for $module::$request {
            const KEY: ApiKey = ApiKey::$name;
            type Response = $module::$response;
        })*
        $(impl Request for $own_module::$own_request {
            const KEY: ApiKey = ApiKey::$own_name;
            type Response = $own_module::$own_response;
        })*

        /// Sets every message beside that of the `kafka-protocol` crate.
        #[cfg(test)]
        pub(super) fn beside_the_oracle(compared: &mut super::tests::Compared) {
            $(
                compared.message::<$module::$request, kafka_protocol::messages::$request>(ApiKey::$name, "request");
                compared.message::<$module::$response, kafka_protocol::messages::$response>(ApiKey::$name, "response");
            )*
        }

        /// Samples of every message in every version, with what encoding makes of them.
        #[cfg(test)]
        pub(super) fn for_every_sample(dice: &mut super::sample::Dice, each: &mut super::tests::EachSample<'_>) {
            $(
                super::tests::samples::<$module::$request>(ApiKey::$name, "request", dice, each);
                super::tests::samples::<$module::$response>(ApiKey::$name, "response", dice, each);
            )*
            $(
                super::tests::samples::<$own_module::$own_request>(ApiKey::$own_name, "request", dice, each);
                super::tests::samples::<$own_module::$own_response>(ApiKey::$own_name, "response", dice, each);
            )*
        }

        /// Decodes a request body and encodes it again: what every codec test asks for. Bytes after the body are left out.
        pub fn reencode_request(api: ApiKey, version: i16, body: Bytes) -> Result<Vec<u8>, DecodeError> {
            match api {
                $(ApiKey::$name => reencode::<$module::$request>(api, version, body),)*
                $(ApiKey::$own_name => reencode::<$own_module::$own_request>(api, version, body)),*
            }
        }

        /// Decodes a response body and encodes it again.
        pub fn reencode_response(api: ApiKey, version: i16, body: Bytes) -> Result<Vec<u8>, DecodeError> {
            match api {
                $(ApiKey::$name => reencode::<$module::$response>(api, version, body),)*
                $(ApiKey::$own_name => reencode::<$own_module::$own_response>(api, version, body)),*
            }
        }
    };
    (@flexible never) => { i16::MAX };
    (@flexible $from:literal) => { $from };
}

apis! {
    0 Produce k00_produce ProduceRequest ProduceResponse 3..=13 flexible 9;
    1 Fetch k01_fetch FetchRequest FetchResponse 4..=18 flexible 12;
    2 ListOffsets k02_list_offsets ListOffsetsRequest ListOffsetsResponse 1..=11 flexible 6;
    3 Metadata k03_metadata MetadataRequest MetadataResponse 0..=13 flexible 9;
    8 OffsetCommit k08_offset_commit OffsetCommitRequest OffsetCommitResponse 2..=10 flexible 8;
    9 OffsetFetch k09_offset_fetch OffsetFetchRequest OffsetFetchResponse 1..=10 flexible 6;
    10 FindCoordinator k10_find_coordinator FindCoordinatorRequest FindCoordinatorResponse 0..=6 flexible 3;
    11 JoinGroup k11_join_group JoinGroupRequest JoinGroupResponse 0..=9 flexible 6;
    12 Heartbeat k12_heartbeat HeartbeatRequest HeartbeatResponse 0..=4 flexible 4;
    13 LeaveGroup k13_leave_group LeaveGroupRequest LeaveGroupResponse 0..=5 flexible 4;
    14 SyncGroup k14_sync_group SyncGroupRequest SyncGroupResponse 0..=5 flexible 4;
    15 DescribeGroups k15_describe_groups DescribeGroupsRequest DescribeGroupsResponse 0..=6 flexible 5;
    16 ListGroups k16_list_groups ListGroupsRequest ListGroupsResponse 0..=5 flexible 3;
    17 SaslHandshake k17_sasl_handshake SaslHandshakeRequest SaslHandshakeResponse 0..=1 flexible never;
    18 ApiVersions k18_api_versions ApiVersionsRequest ApiVersionsResponse 0..=4 flexible 3;
    19 CreateTopics k19_create_topics CreateTopicsRequest CreateTopicsResponse 2..=7 flexible 5;
    20 DeleteTopics k20_delete_topics DeleteTopicsRequest DeleteTopicsResponse 1..=6 flexible 4;
    21 DeleteRecords k21_delete_records DeleteRecordsRequest DeleteRecordsResponse 0..=2 flexible 2;
    22 InitProducerId k22_init_producer_id InitProducerIdRequest InitProducerIdResponse 0..=6 flexible 2;
    23 OffsetForLeaderEpoch k23_offset_for_leader_epoch OffsetForLeaderEpochRequest OffsetForLeaderEpochResponse 2..=4 flexible 4;
    24 AddPartitionsToTxn k24_add_partitions_to_txn AddPartitionsToTxnRequest AddPartitionsToTxnResponse 0..=5 flexible 3;
    25 AddOffsetsToTxn k25_add_offsets_to_txn AddOffsetsToTxnRequest AddOffsetsToTxnResponse 0..=4 flexible 3;
    26 EndTxn k26_end_txn EndTxnRequest EndTxnResponse 0..=5 flexible 3;
    27 WriteTxnMarkers k27_write_txn_markers WriteTxnMarkersRequest WriteTxnMarkersResponse 1..=2 flexible 1;
    28 TxnOffsetCommit k28_txn_offset_commit TxnOffsetCommitRequest TxnOffsetCommitResponse 0..=5 flexible 3;
    29 DescribeAcls k29_describe_acls DescribeAclsRequest DescribeAclsResponse 1..=3 flexible 2;
    30 CreateAcls k30_create_acls CreateAclsRequest CreateAclsResponse 1..=3 flexible 2;
    31 DeleteAcls k31_delete_acls DeleteAclsRequest DeleteAclsResponse 1..=3 flexible 2;
    32 DescribeConfigs k32_describe_configs DescribeConfigsRequest DescribeConfigsResponse 1..=4 flexible 4;
    33 AlterConfigs k33_alter_configs AlterConfigsRequest AlterConfigsResponse 0..=2 flexible 2;
    34 AlterReplicaLogDirs k34_alter_replica_log_dirs AlterReplicaLogDirsRequest AlterReplicaLogDirsResponse 1..=2 flexible 2;
    35 DescribeLogDirs k35_describe_log_dirs DescribeLogDirsRequest DescribeLogDirsResponse 1..=5 flexible 2;
    36 SaslAuthenticate k36_sasl_authenticate SaslAuthenticateRequest SaslAuthenticateResponse 0..=2 flexible 2;
    37 CreatePartitions k37_create_partitions CreatePartitionsRequest CreatePartitionsResponse 0..=3 flexible 2;
    42 DeleteGroups k42_delete_groups DeleteGroupsRequest DeleteGroupsResponse 0..=2 flexible 2;
    43 ElectLeaders k43_elect_leaders ElectLeadersRequest ElectLeadersResponse 0..=2 flexible 2;
    44 IncrementalAlterConfigs k44_incremental_alter_configs IncrementalAlterConfigsRequest IncrementalAlterConfigsResponse 0..=1 flexible 1;
    45 AlterPartitionReassignments k45_alter_partition_reassignments AlterPartitionReassignmentsRequest AlterPartitionReassignmentsResponse 0..=1 flexible 0;
    46 ListPartitionReassignments k46_list_partition_reassignments ListPartitionReassignmentsRequest ListPartitionReassignmentsResponse 0..=0 flexible 0;
    47 OffsetDelete k47_offset_delete OffsetDeleteRequest OffsetDeleteResponse 0..=0 flexible never;
    48 DescribeClientQuotas k48_describe_client_quotas DescribeClientQuotasRequest DescribeClientQuotasResponse 0..=1 flexible 1;
    49 AlterClientQuotas k49_alter_client_quotas AlterClientQuotasRequest AlterClientQuotasResponse 0..=1 flexible 1;
    50 DescribeUserScramCredentials k50_describe_user_scram_credentials DescribeUserScramCredentialsRequest DescribeUserScramCredentialsResponse 0..=0 flexible 0;
    51 AlterUserScramCredentials k51_alter_user_scram_credentials AlterUserScramCredentialsRequest AlterUserScramCredentialsResponse 0..=0 flexible 0;
    55 DescribeQuorum k55_describe_quorum DescribeQuorumRequest DescribeQuorumResponse 0..=2 flexible 0;
    57 UpdateFeatures k57_update_features UpdateFeaturesRequest UpdateFeaturesResponse 0..=2 flexible 0;
    60 DescribeCluster k60_describe_cluster DescribeClusterRequest DescribeClusterResponse 0..=2 flexible 0;
    61 DescribeProducers k61_describe_producers DescribeProducersRequest DescribeProducersResponse 0..=0 flexible 0;
    64 UnregisterBroker k64_unregister_broker UnregisterBrokerRequest UnregisterBrokerResponse 0..=0 flexible 0;
    65 DescribeTransactions k65_describe_transactions DescribeTransactionsRequest DescribeTransactionsResponse 0..=0 flexible 0;
    66 ListTransactions k66_list_transactions ListTransactionsRequest ListTransactionsResponse 0..=2 flexible 0;
    68 ConsumerGroupHeartbeat k68_consumer_group_heartbeat ConsumerGroupHeartbeatRequest ConsumerGroupHeartbeatResponse 0..=1 flexible 0;
    69 ConsumerGroupDescribe k69_consumer_group_describe ConsumerGroupDescribeRequest ConsumerGroupDescribeResponse 0..=1 flexible 0;
    74 ListConfigResources k74_list_config_resources ListConfigResourcesRequest ListConfigResourcesResponse 0..=1 flexible 0;
    75 DescribeTopicPartitions k75_describe_topic_partitions DescribeTopicPartitionsRequest DescribeTopicPartitionsResponse 0..=0 flexible 0;
    80 AddRaftVoter k80_add_raft_voter AddRaftVoterRequest AddRaftVoterResponse 0..=1 flexible 0;
    81 RemoveRaftVoter k81_remove_raft_voter RemoveRaftVoterRequest RemoveRaftVoterResponse 0..=0 flexible 0;
    inside {
        30000 Raft k30000_raft RaftRequest RaftResponse;
        30001 Control k30001_control ControlRequest ControlResponse;
        30002 Forward k30002_forward ForwardRequest ForwardResponse;
        30003 Faults k30003_faults FaultsRequest FaultsResponse;
    }
}

/// A key that klog has no messages for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("API key {0} is not known")]
pub struct UnknownApiKey(pub i16);

impl ApiKey {
    /// The number on the wire.
    pub fn number(self) -> i16 {
        self as i16
    }

    /// How that version is encoded.
    pub fn version(self, number: i16) -> Version {
        Version { number, flexible: self.flexible_from() <= number }
    }

    /// That version, if it is one that can be encoded and decoded.
    pub fn checked_version(self, number: i16) -> Result<Version, DecodeError> {
        let (min, max) = self.versions();
        if number < min || max < number {
            return Err(DecodeError::UnsupportedVersion { api: self.name(), version: number });
        }
        Ok(self.version(number))
    }
}

fn reencode<T: Wire>(api: ApiKey, version: i16, body: Bytes) -> Result<Vec<u8>, DecodeError> {
    let v = api.checked_version(version)?;
    let mut out = Writer::default();
    T::get(v, &mut Reader::new(body))?.put(v, &mut out);
    Ok(out.bytes)
}
