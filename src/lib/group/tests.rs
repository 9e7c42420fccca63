//! Every rule as a script that anyone can read: see `tests/scripts/group`. Who may commit in which state is a table.

use std::sync::Arc;

use bytes::Bytes;

use super::*;
use crate::types::{PartitionIndex, TopicName, TopicPartition, WallMs};

#[test]
fn scripts() {
    script::check_all("tests/scripts/group");
}

/// A coordinator whose appends happen at once.
struct Stage {
    groups: Groups,
    ticket: Ticket,
}

impl Stage {
    /// What the request is answered at once; nothing where it waits.
    fn step(&mut self, event: impl FnOnce(Ticket) -> Event) -> Option<Reply> {
        self.ticket += 1;
        let (asked, mut answer) = (self.ticket, None);
        let mut events = vec![event(asked)];
        while let Some(event) = events.pop() {
            let dies = matches!(event, Event::Delete(..));
            let mut effects = Vec::new();
            self.groups.step(Now::default(), event, &mut effects);
            for effect in effects {
                match effect {
                    // A group is dead until its end is committed: that waits here.
                    Effect::Append(..) if dies => (),
                    Effect::Append(id, _) => events.push(Event::Committed(id)),
                    Effect::Reply(ticket, reply) if ticket == asked => answer = Some(reply),
                    Effect::Reply(..) => (),
                }
            }
        }
        answer
    }

    /// A new member, `m-` and that name, or one that comes again.
    fn join(&mut self, fresh: &str, member: Option<&str>) -> Option<Reply> {
        let join = Join {
            group: "g".into(),
            member: member.map(MemberId::new),
            instance: None,
            client_id: "m".into(),
            client_host: "/here".into(),
            session_timeout_ms: 10_000,
            rebalance_timeout_ms: None,
            protocol_type: "consumer".into(),
            protocols: vec![Protocol { name: "cooperative-sticky".into(), metadata: Bytes::new() }],
            id_first: false,
            may_skip_assignment: false,
            fresh: fresh.into(),
        };
        self.step(|ticket| Event::Join(ticket, join))
    }

    fn sync(&mut self, generation: i32) {
        let sync = Sync {
            whom: whom(Some("m-1"), generation),
            protocol_type: None,
            protocol: None,
            must_name_protocol: false,
            assignments: Vec::new(),
        };
        assert!(matches!(self.step(|ticket| Event::Sync(ticket, sync)), Some(Reply::Sync(Ok(_)))));
    }

    fn leave(&mut self, member: &str) {
        let leaving = Leaving { member: Some(MemberId::new(member)), instance: None };
        self.step(|ticket| Event::Leave(ticket, "g".into(), vec![leaving]));
    }

    /// A group in that state, in generation 2, with the member `m-1` where it has any.
    fn in_state(state: GroupState) -> Stage {
        let mut stage = Stage { groups: Groups::new(Arc::new(GroupRules::default())), ticket: 0 };
        assert!(matches!(stage.join("1", None), Some(Reply::Join(Ok(_)))));
        match state {
            GroupState::Empty | GroupState::Dead => {
                stage.leave("m-1");
                if state == GroupState::Dead {
                    stage.step(|ticket| Event::Delete(ticket, "g".into()));
                }
            }
            GroupState::PreparingRebalance | GroupState::CompletingRebalance | GroupState::Stable => {
                // The second generation: another one joined and went.
                stage.sync(1);
                stage.join("2", None);
                stage.leave("m-2");
                assert!(matches!(stage.join("", Some("m-1")), Some(Reply::Join(Ok(_)))));
                if state != GroupState::CompletingRebalance {
                    stage.sync(2);
                }
                if state == GroupState::PreparingRebalance {
                    stage.join("3", None);
                }
            }
        }
        assert_eq!(stage.groups.describe("g").map(|group| group.state), Some(state));
        stage
    }
}

fn whom(member: Option<&str>, generation: i32) -> Whom {
    Whom { group: "g".into(), member: member.map(MemberId::new), instance: None, generation: Generation::new(generation) }
}

/// Kafka's `ClassicGroup.validateOffsetCommit`. A commit that is on its way while the group rebalances is taken as long as the others are
/// waited for, in the generation that ends; once the next one has begun, its members are told to wait, and whoever speaks of the one before
/// is told that it is over.
#[test]
fn who_may_commit_in_which_state() {
    use GroupError::{Dead, IllegalGeneration, RebalanceInProgress, UnknownMember};
    type Answer = Result<(), GroupError>;
    const TAKEN: Answer = Ok(());
    let states = [GroupState::Empty, GroupState::PreparingRebalance, GroupState::CompletingRebalance, GroupState::Stable, GroupState::Dead];
    #[rustfmt::skip]
    let table: [(&str, Option<&str>, i32, [Answer; 5]); 7] = [
        ("a member of this generation",  Some("m-1"), 2,  [Err(UnknownMember), TAKEN, Err(RebalanceInProgress), TAKEN, Err(Dead)]),
        ("a member of the one before",   Some("m-1"), 1,  [Err(UnknownMember), Err(IllegalGeneration), Err(IllegalGeneration), Err(IllegalGeneration), Err(Dead)]),
        ("a member of the next",         Some("m-1"), 3,  [Err(UnknownMember), Err(IllegalGeneration), Err(IllegalGeneration), Err(IllegalGeneration), Err(Dead)]),
        ("a member without generation",  Some("m-1"), -1, [TAKEN, Err(IllegalGeneration), Err(IllegalGeneration), Err(IllegalGeneration), Err(Dead)]),
        ("somebody unknown",             Some("m-9"), 2,  [Err(UnknownMember), Err(UnknownMember), Err(UnknownMember), Err(UnknownMember), Err(Dead)]),
        ("nobody, with a generation",    None,        2,  [Err(UnknownMember), Err(UnknownMember), Err(UnknownMember), Err(UnknownMember), Err(Dead)]),
        ("a simple consumer",            None,        -1, [TAKEN, Err(UnknownMember), Err(UnknownMember), Err(UnknownMember), Err(Dead)]),
    ];
    for (who, member, generation, answers) in table {
        for (state, expected) in states.into_iter().zip(answers) {
            let mut stage = Stage::in_state(state);
            let at = TopicPartition { topic: TopicName::new("t").expect("a name"), partition: PartitionIndex::new(0).expect("positive") };
            let committed =
                Committed { offset: 5, leader_epoch: None, metadata: "".into(), committed_at: WallMs(0), expires_at: None, topic_id: None };
            let commit = CommitOffsets {
                whom: whom(member, generation),
                knows_missing_groups: true,
                retention_ms: None,
                offsets: vec![OffsetToCommit { partition: at, committed }],
            };
            let answer = stage.step(|ticket| Event::Commit(ticket, commit));
            let Some(Reply::Commit(answer)) = answer else { panic!("{who} in {state:?}: {answer:?}") };
            assert_eq!(answer.map(|each| assert_eq!(each, [Ok(())])), expected, "{who} in {state:?}");
        }
    }
}
