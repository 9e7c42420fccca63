//! Who reads what in a classic group, as its leader decides it: range, roundrobin, sticky and cooperative-sticky.
//! Owns the rules and the assignors' own data; must never know the coordinator. Pure: members and topics in, assignment out.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::protocol::{Subscription, get_partitions, put_partitions};
use crate::client::Assignor;
use crate::types::{PartitionIndex, TopicName, TopicPartition};
use crate::wire::codec::{DecodeError, Reader, Version, Wire, Writer};

const OLD: Version = Version { number: 0, flexible: false };

/// One member, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) instance_id: Option<String>,
    pub(super) subscription: Subscription,
}

/// The partitions of each member, by member id.
pub(super) type Assignment = BTreeMap<String, BTreeSet<TopicPartition>>;

/// The data that an assignor sends along with a subscription.
pub(super) fn user_data(assignor: Assignor, owned: &BTreeSet<TopicPartition>, generation: Option<i32>) -> Option<Bytes> {
    let mut out = Writer::default();
    match assignor {
        Assignor::Range | Assignor::RoundRobin => return None,
        // Kafka's StickyAssignor: what the member had, and since when.
        Assignor::Sticky => put_partitions(owned, &mut out),
        Assignor::CooperativeSticky => (),
    }
    generation.unwrap_or(-1).put(OLD, &mut out);
    Some(Bytes::from(out.bytes))
}

/// Shares partitions out. `partitions_count` holds the topics that exist.
pub(super) fn assign(assignor: Assignor, members: &[Member], partitions_count: &BTreeMap<TopicName, usize>) -> Assignment {
    let mut members: Vec<&Member> = members.iter().collect();
    // Static members first, by their own ids, so that they get the same after a restart.
    members.sort_by_key(|member| (member.instance_id.is_none(), member.instance_id.clone(), member.id.clone()));
    let mut assignment: Assignment = members.iter().map(|member| (member.id.clone(), BTreeSet::new())).collect();
    match assignor {
        Assignor::Range => range(&members, partitions_count, &mut assignment),
        Assignor::RoundRobin => round_robin(&members, partitions_count, &mut assignment),
        Assignor::Sticky => sticky(&members, partitions_count, &claims(&members, had_by_data), &mut assignment),
        Assignor::CooperativeSticky => {
            sticky(&members, partitions_count, &claims(&members, had_by_subscription), &mut assignment);
            leave_with_owner(&members, &mut assignment);
        }
    }
    assignment
}

fn wants(member: &Member, topic: &TopicName) -> bool {
    member.subscription.topics.iter().any(|wanted| wanted == topic.as_str())
}

fn partitions(topic: &TopicName, count: usize) -> impl Iterator<Item = TopicPartition> {
    let numbers = (0..count).filter_map(|number| PartitionIndex::new(i32::try_from(number).ok()?));
    numbers.map(|partition| TopicPartition { topic: topic.clone(), partition })
}

/// Per topic, consecutive partitions; the first members get one more where it does not come out even.
fn range(members: &[&Member], topics: &BTreeMap<TopicName, usize>, assignment: &mut Assignment) {
    for (topic, count) in topics {
        let readers: Vec<&&Member> = members.iter().filter(|member| wants(member, topic)).collect();
        if readers.is_empty() {
            continue;
        }
        let (each, more) = (count / readers.len(), count % readers.len());
        let mut all = partitions(topic, *count);
        for (nth, reader) in readers.iter().enumerate() {
            let share = all.by_ref().take(each + usize::from(nth < more));
            assignment.entry(reader.id.clone()).or_default().extend(share);
        }
    }
}

/// All partitions in turn; a member that does not want a topic is passed over.
fn round_robin(members: &[&Member], topics: &BTreeMap<TopicName, usize>, assignment: &mut Assignment) {
    let mut turn = 0;
    for (topic, count) in topics {
        if !members.iter().any(|member| wants(member, topic)) {
            continue;
        }
        for tp in partitions(topic, *count) {
            let reader = (0..members.len()).find_map(|step| {
                let at = (turn + step) % members.len();
                members.get(at).filter(|member| wants(member, topic)).map(|member| (at, member))
            });
            let Some((at, reader)) = reader else { continue };
            turn = at + 1;
            assignment.entry(reader.id.clone()).or_default().insert(tp);
        }
    }
}

/// What a member had, and since which generation.
type Had = (BTreeSet<TopicPartition>, i32);

fn had_by_subscription(member: &Member) -> Had {
    let generation = member.subscription.generation.unwrap_or(-1);
    (member.subscription.owned.clone(), generation)
}

fn had_by_data(member: &Member) -> Had {
    let read = |data: &Bytes| -> Result<Had, DecodeError> {
        let mut input = Reader::new(data.clone());
        let owned = get_partitions(&mut input)?;
        // The first version of the data has no generation.
        let generation = if input.left() < 4 { -1 } else { i32::get(OLD, &mut input)? };
        Ok((owned, generation))
    };
    member.subscription.user_data.as_ref().and_then(|data| read(data).ok()).unwrap_or_else(|| had_by_subscription(member))
}

/// Who may keep what: the claim of the newest generation counts, and two claims of one generation are none.
fn claims(members: &[&Member], had: impl Fn(&Member) -> Had) -> BTreeMap<TopicPartition, String> {
    let mut best: BTreeMap<TopicPartition, (i32, Option<String>)> = BTreeMap::new();
    for member in members {
        let (owned, generation) = had(member);
        for tp in owned {
            match best.get_mut(&tp) {
                None => drop(best.insert(tp, (generation, Some(member.id.clone())))),
                Some((newest, owner)) if *newest < generation => (*newest, *owner) = (generation, Some(member.id.clone())),
                Some((newest, owner)) if *newest == generation => *owner = None,
                Some(_) => (),
            }
        }
    }
    best.into_iter().filter_map(|(tp, (_, owner))| Some((tp, owner?))).collect()
}

/// Balanced as far as subscriptions allow, moving as little as that takes.
fn sticky(
    members: &[&Member],
    topics: &BTreeMap<TopicName, usize>,
    claims: &BTreeMap<TopicPartition, String>,
    assignment: &mut Assignment,
) {
    let readers: BTreeMap<&TopicName, Vec<&str>> = topics
        .keys()
        .map(|topic| (topic, members.iter().filter(|member| wants(member, topic)).map(|member| member.id.as_str()).collect()))
        .collect();
    let mut free: Vec<TopicPartition> = Vec::new();
    for (topic, count) in topics {
        let Some(readers) = readers.get(topic).filter(|readers| !readers.is_empty()) else { continue };
        for tp in partitions(topic, *count) {
            match claims.get(&tp).filter(|owner| readers.contains(&owner.as_str())) {
                Some(owner) => drop(assignment.entry(owner.clone()).or_default().insert(tp)),
                None => free.push(tp),
            }
        }
    }
    // Partitions that few can read have the least choice, so they choose first.
    free.sort_by_key(|tp| readers.get(&tp.topic).map_or(0, Vec::len));
    for tp in free {
        let Some(reader) = least_loaded(readers.get(&tp.topic), assignment) else { continue };
        assignment.entry(reader).or_default().insert(tp);
    }
    balance(&readers, assignment);
}

fn least_loaded(readers: Option<&Vec<&str>>, assignment: &Assignment) -> Option<String> {
    let load = |reader: &&&str| assignment.get(**reader).map_or(0, BTreeSet::len);
    readers?.iter().min_by_key(load).map(|reader| (*reader).to_owned())
}

/// Moves partitions from members to others that have at least two less. Each move lowers the sum of squares of the loads, so it ends.
fn balance(readers: &BTreeMap<&TopicName, Vec<&str>>, assignment: &mut Assignment) {
    loop {
        let mut by_load: Vec<String> = assignment.keys().cloned().collect();
        by_load.sort_by_key(|member| std::cmp::Reverse(assignment.get(member).map_or(0, BTreeSet::len)));
        let step = by_load.iter().find_map(|from| {
            let owned = assignment.get(from)?;
            // The last partitions go first: those that stay are the lowest, as the other assignors have it.
            owned.iter().rev().find_map(|tp| {
                let to = least_loaded(readers.get(&tp.topic), assignment)?;
                let gain = assignment.get(&to).map_or(0, BTreeSet::len) + 1 < owned.len();
                gain.then(|| (from.clone(), to, tp.clone()))
            })
        });
        let Some((from, to, tp)) = step else { return };
        assignment.entry(from).or_default().remove(&tp);
        assignment.entry(to).or_default().insert(tp);
    }
}

/// What another member reads now it must give up first: it is given out in the round after (KIP-429).
fn leave_with_owner(members: &[&Member], assignment: &mut Assignment) {
    for member in members {
        for (other, partitions) in assignment.iter_mut() {
            if *other != member.id {
                partitions.retain(|tp| !member.subscription.owned.contains(tp));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn topic(nth: usize) -> TopicName {
        TopicName::new(&format!("t{nth}")).expect("a name")
    }

    fn member(id: &str, topics: &[usize], owned: BTreeSet<TopicPartition>, assignor: Assignor) -> Member {
        let subscription = Subscription {
            topics: topics.iter().map(|nth| topic(*nth).to_string()).collect(),
            user_data: user_data(assignor, &owned, Some(1)),
            owned: if assignor == Assignor::CooperativeSticky { owned } else { BTreeSet::new() },
            generation: Some(1),
            rack: None,
        };
        Member { id: id.to_owned(), instance_id: None, subscription }
    }

    fn counts(counts: &[usize]) -> BTreeMap<TopicName, usize> {
        counts.iter().enumerate().map(|(nth, count)| (topic(nth), *count)).collect()
    }

    fn check(assignor: Assignor, members: &[(&str, &[usize])], topics: &[usize], expected: &[(&str, &[&str])]) {
        let members: Vec<Member> = members.iter().map(|(id, topics)| member(id, topics, BTreeSet::new(), assignor)).collect();
        let assigned = assign(assignor, &members, &counts(topics));
        let seen: Vec<(String, Vec<String>)> =
            assigned.into_iter().map(|(id, tps)| (id, tps.iter().map(ToString::to_string).collect())).collect();
        let expected: Vec<(String, Vec<String>)> =
            expected.iter().map(|(id, tps)| ((*id).to_owned(), tps.iter().map(|tp| (*tp).to_owned()).collect())).collect();
        assert_eq!(seen, expected, "{assignor:?}");
    }

    /// The examples of Kafka's own documentation of the assignors.
    #[test]
    fn as_kafka_documents_it() {
        let both: &[usize] = &[0, 1];
        check(
            Assignor::Range,
            &[("c0", both), ("c1", both)],
            &[3, 3],
            &[("c0", &["t0-0", "t0-1", "t1-0", "t1-1"]), ("c1", &["t0-2", "t1-2"])],
        );
        check(
            Assignor::RoundRobin,
            &[("c0", both), ("c1", both)],
            &[3, 3],
            &[("c0", &["t0-0", "t0-2", "t1-1"]), ("c1", &["t0-1", "t1-0", "t1-2"])],
        );
        check(
            Assignor::RoundRobin,
            &[("c0", &[0]), ("c1", &[0, 1]), ("c2", &[0, 1, 2])],
            &[1, 2, 3],
            &[("c0", &["t0-0"]), ("c1", &["t1-0"]), ("c2", &["t1-1", "t2-0", "t2-1", "t2-2"])],
        );
        check(
            Assignor::Sticky,
            &[("c0", &[0]), ("c1", &[0, 1]), ("c2", &[0, 1, 2])],
            &[1, 2, 3],
            &[("c0", &["t0-0"]), ("c1", &["t1-0", "t1-1"]), ("c2", &["t2-0", "t2-1", "t2-2"])],
        );
    }

    fn all() -> impl Strategy<Value = Assignor> {
        prop_oneof![Just(Assignor::Range), Just(Assignor::RoundRobin), Just(Assignor::Sticky), Just(Assignor::CooperativeSticky)]
    }

    proptest! {
        #![proptest_config(proptest::test_runner::Config { rng_seed: proptest::test_runner::RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]
        #[test]
        fn every_partition_has_one_reader_that_wants_it(
            assignor in all(),
            subscriptions in prop::collection::vec(prop::collection::btree_set(0usize..4, 0..4), 1..6),
            topics in prop::collection::vec(1usize..8, 4),
        ) {
            let members: Vec<Member> = subscriptions.iter().enumerate().map(|(nth, topics)| {
                let topics: Vec<usize> = topics.iter().copied().collect();
                member(&format!("m{nth}"), &topics, BTreeSet::new(), assignor)
            }).collect();
            let assigned = assign(assignor, &members, &counts(&topics));
            let mut seen = BTreeSet::new();
            for (id, tps) in &assigned {
                let reader = members.iter().find(|member| member.id == *id).expect("a member");
                for tp in tps {
                    prop_assert!(wants(reader, &tp.topic));
                    prop_assert!(seen.insert(tp.clone()), "{tp} twice");
                }
            }
            let read: usize = topics.iter().enumerate()
                .filter(|(nth, _)| subscriptions.iter().any(|topics| topics.contains(nth)))
                .map(|(_, count)| *count).sum();
            prop_assert_eq!(seen.len(), read);
        }

        #[test]
        fn sticky_ones_balance_and_move_little(
            cooperative in any::<bool>(), before in 1usize..6, after in 1usize..6, partitions_count in 1usize..40,
        ) {
            let assignor = if cooperative { Assignor::CooperativeSticky } else { Assignor::Sticky };
            let topics = counts(&[partitions_count]);
            let fresh: Vec<Member> = (0..before).map(|nth| member(&format!("m{nth}"), &[0], BTreeSet::new(), assignor)).collect();
            let first = assign(assignor, &fresh, &topics);
            let owned = |id: &str| first.get(id).cloned().unwrap_or_default();
            let stay: Vec<Member> = (0..after).map(|nth| {
                let id = format!("m{nth}");
                member(&id, &[0], owned(&id), assignor)
            }).collect();
            let mut second = assign(assignor, &stay, &topics);
            // The second round gives out what the first took away.
            if cooperative {
                let next: Vec<Member> = second.iter().map(|(id, tps)| {
                    let kept = tps.intersection(&owned(id)).cloned().chain(tps.difference(&owned(id)).cloned()).collect();
                    member(id, &[0], kept, assignor)
                }).collect();
                second = assign(assignor, &next, &topics);
            }
            let loads: Vec<usize> = second.values().map(BTreeSet::len).collect();
            let (least, most) = (loads.iter().min().copied().unwrap_or(0), loads.iter().max().copied().unwrap_or(0));
            prop_assert!(most <= least + 1, "{loads:?}");
            prop_assert_eq!(loads.iter().sum::<usize>(), partitions_count);
            let kept: usize = second.iter().map(|(id, tps)| tps.intersection(&owned(id)).count()).sum();
            let had: usize = (0..after).map(|nth| owned(&format!("m{nth}")).len()).sum();
            let share = partitions_count.div_ceil(after);
            let due: usize = (0..after).map(|nth| owned(&format!("m{nth}")).len().saturating_sub(share)).sum();
            // Where the shares do not come out even, each member beyond the larger ones may give up one more.
            prop_assert!(had <= kept + due + after, "kept {kept} of {had}");
        }
    }

    #[test]
    fn what_another_reads_is_not_given_out_before_it_is_given_up() {
        let owned: BTreeSet<TopicPartition> = partitions(&topic(0), 4).collect();
        let members =
            [member("a", &[0], owned, Assignor::CooperativeSticky), member("b", &[0], BTreeSet::new(), Assignor::CooperativeSticky)];
        let assigned = assign(Assignor::CooperativeSticky, &members, &counts(&[4]));
        assert_eq!(assigned.get("a").map(BTreeSet::len), Some(2));
        assert_eq!(assigned.get("b").map(BTreeSet::len), Some(0));
    }

    #[test]
    fn older_claims_do_not_count() {
        let owned: BTreeSet<TopicPartition> = partitions(&topic(0), 2).collect();
        let mut stale = member("a", &[0], owned.clone(), Assignor::CooperativeSticky);
        stale.subscription.generation = Some(0);
        let current = member("b", &[0], owned, Assignor::CooperativeSticky);
        let members = [&stale, &current];
        let kept = claims(&members, had_by_subscription);
        assert!(kept.values().all(|owner| owner == "b"));
        assert_eq!(kept.len(), 2);
    }
}
