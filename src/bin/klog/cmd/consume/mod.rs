//! `klog consume`: what is fetched becomes bytes on stdout, up to an end or for ever.
//!
//! `Consumer (fetches ahead) → Printer (filters, formats) → Handed (stdout, and what of it was taken) → commits, in a group`

mod ends;
mod handed;
mod held;
mod options;
mod printer;
mod tail;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use klog::client::{ClientError, CommittedOffset, Consumer, ErrorCode, Event, Fetched, Position, Topics};
use klog::types::{TopicName, TopicPartition};
use regex::Regex;

use crate::cmd::topic::patterns;
use crate::exit::{self, FAILED, Failure, Silent};
use crate::output::{Talk, Unit};
use crate::session::{self, Session};
use crate::signals::Stop;
use crate::text::offsets::{Edge, Range};
use ends::Plan;
use handed::Handed;
use held::{Held, Item, Merge};
use options::Options;
use printer::Printer;
use tail::Windows;

/// How long a group's positions wait to be committed.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How long one wait for records lasts.
const POLL: Duration = Duration::from_millis(200);
/// How long a member that ends waits until its group takes commits again.
const LAST_COMMIT_MAX: Duration = Duration::from_secs(5);

/// Reads until there is a reason to stop.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let options = Options::read(matches, talk.json)?;
    let mut config = session::config(matches, talk)?;
    for (key, value) in &options.properties {
        config.set(key, value)?;
    }
    if options.group.is_none() && config.consumer.group_id.is_some() {
        return Err(Failure::usage("group.id makes no member of a group").hint("-g GROUP does").into());
    }
    let session = Session::open_parallel(config)?;
    let stop = session.enter(Stop::install)?;
    let topics = topics(&session, &options)?;
    let mut plan = match options.tail {
        Some(_) => Plan::default(),
        None => Plan::new(&session, &options, &topics)?,
    };
    if options.count == Some(0) || options.tail.is_none() && plan.is_done() {
        return Ok(());
    }
    let windows = options.tail.map(|count| Windows::new(&session, &options, &topics, count)).transpose()?;
    let mut reading = Reading {
        printer: Printer::new(&options),
        merge: options.by_time.then(Merge::default),
        out: Handed::stdout(options.group.is_some(), stop.clone())?,
        consumer: session.enter(|| Consumer::new(&session.client)),
        in_group: options.group.is_some(),
        committed_at: Instant::now(),
        failed: false,
        talk,
    };
    reading.consumer.show_control(options.control);
    let ended = session.wait(async {
        if let Some(windows) = windows {
            let Some(ends) = reading.tail(windows, &options, stop.clone()).await? else { return Ok(reading.outcome()) };
            plan = Plan::after(&ends);
        }
        reading.read(&options, &topics, &mut plan, stop).await
    });
    let ended = session.wait(reading.end(ended, &options));
    match ended? {
        Ended::Failed => Err(Silent(FAILED).into()),
        Ended::Done => Ok(()),
    }
}

/// The topics to read; with patterns, those that there are now.
fn topics(session: &Session, options: &Options) -> anyhow::Result<Vec<TopicName>> {
    if !options.regex {
        let names = options.topics.iter().map(|topic| TopicName::new(topic).map_err(ClientError::from));
        let names: Vec<TopicName> = names.collect::<Result<_, _>>()?;
        for name in &names {
            session.wait(session.client.topic_now(name, false))?;
        }
        return Ok(names);
    }
    let named: Vec<&str> = options.topics.iter().map(String::as_str).collect();
    let patterns = patterns(&named)?;
    let cluster = session.wait(session.client.metadata(Topics::All))?;
    let fits = |name: &&TopicName| patterns.iter().any(|(_, pattern)| pattern.is_match(name.as_str()));
    let found: Vec<TopicName> =
        cluster.topics.iter().filter(|(_, topic)| !topic.internal).map(|(name, _)| name).filter(fits).cloned().collect();
    if found.is_empty() && options.group.is_none() {
        let failure = Failure::failed("unknown_topic", format!("no topic matches '{}'", named.join("', '")));
        return Err(failure.hint("klog topic list shows what there is").into());
    }
    Ok(found)
}

enum Ended {
    Done,
    Failed,
}

struct Reading<'a> {
    printer: Printer<'a>,
    out: Handed,
    consumer: Consumer,
    /// What waits for its turn where partitions are merged by time.
    merge: Option<Merge>,
    in_group: bool,
    committed_at: Instant,
    failed: bool,
    talk: Talk,
}

impl Reading<'_> {
    async fn read(&mut self, options: &Options, topics: &[TopicName], plan: &mut Plan, mut stop: Stop) -> anyhow::Result<Ended> {
        if self.in_group {
            self.subscribe(options, topics).await?;
        } else {
            self.assign(&plan.positions()).await?;
        }
        let mut progress = self.talk.progress("consumed", plan.total(), Unit::Records);
        let mut last_record = Instant::now();
        // Records are written out when nothing more is at hand: never held back, never written one by one when many come.
        let mut idle = false;
        let mut full = false;
        while !stop.asked() && !full && !plan.is_done() {
            let wait = if idle { POLL } else { Duration::ZERO };
            let event = tokio::select! {
                event = self.consumer.poll(wait) => event?,
                () = stop.wait() => break,
            };
            let before = self.printer.printed;
            match event {
                None => {
                    full = self.idle(options.count, plan, idle)?;
                    idle = true;
                }
                Some(event) => {
                    idle = false;
                    full = self.on_event(event, options.count, plan).await?;
                }
            }
            if before < self.printer.printed {
                last_record = Instant::now();
                progress.set(self.printer.printed);
            }
            if !full && options.timeout.is_some_and(|timeout| timeout <= last_record.elapsed()) {
                full = self.emit(options.count, plan, true)?;
                return if full { Ok(self.outcome()) } else { self.timed_out(options) };
            }
            self.commit_now_and_then().await?;
        }
        if !full && plan.is_done() {
            self.emit(options.count, plan, true)?;
        }
        progress.clear();
        Ok(self.outcome())
    }

    /// Reads these partitions, also those that were paused before.
    async fn assign(&mut self, positions: &[(TopicPartition, Position)]) -> Result<(), ClientError> {
        self.consumer.assign(positions).await?;
        positions.iter().for_each(|(tp, _)| self.consumer.resume(tp));
        Ok(())
    }

    fn outcome(&self) -> Ended {
        if self.failed { Ended::Failed } else { Ended::Done }
    }

    async fn on_event(&mut self, event: Event, count: Option<u64>, plan: &mut Plan) -> anyhow::Result<bool> {
        match event {
            Event::Records(fetched) if self.merge.is_some() => return self.hold(&fetched, count, plan),
            Event::Records(fetched) => return self.print(&fetched, count, plan),
            Event::Assigned(partitions) => self.assigned(&partitions, plan).await?,
            Event::Revoked(partitions) => {
                self.out.flush()?;
                self.commit().await?;
                self.lose(&partitions, plan, partitions.len() == self.consumer.assignment().len());
            }
            Event::Lost(partitions) => self.lose(&partitions, plan, self.consumer.assignment().is_empty()),
            Event::Failed { tp, error } => self.fail(&tp, error, plan),
        }
        Ok(false)
    }

    /// Nothing came: at once, or, where that was so before, for a while. What can be written is.
    fn idle(&mut self, count: Option<u64>, plan: &mut Plan, for_long: bool) -> anyhow::Result<bool> {
        let mut full = false;
        if for_long {
            // Records up to the end may have been deleted since it was pinned: then none will ever show that it is reached.
            let reached: Vec<_> = plan.open().iter().filter_map(|tp| Some((tp.clone(), self.consumer.position(tp)?))).collect();
            for (tp, next) in reached {
                plan.reached(&tp, next);
            }
            full = self.emit(count, plan, !plan.has_end())?;
        }
        self.out.flush()?;
        Ok(full)
    }

    async fn subscribe(&mut self, options: &Options, topics: &[TopicName]) -> anyhow::Result<()> {
        if !options.regex {
            return Ok(self.consumer.subscribe(topics).await?);
        }
        let each: Vec<String> = options.topics.iter().map(|text| format!("(?:{text})")).collect();
        Ok(self.consumer.subscribe_pattern(Regex::new(&format!("^(?:{})$", each.join("|")))?).await?)
    }

    /// Prints what is before the end of the range. Gives whether the count is full.
    fn print(&mut self, fetched: &Fetched, count: Option<u64>, plan: &mut Plan) -> anyhow::Result<bool> {
        let tp = fetched.tp();
        let end = plan.end(tp);
        let index = self.out.index(tp);
        let Reading { printer, out, .. } = self;
        let flow = fetched.for_each(|record| {
            if end.is_some_and(|end| end <= record.offset) {
                return ControlFlow::Break(Ok(false));
            }
            if printer.print(out.buffer(), fetched, record) || out.is_marked() {
                if let Err(error) = out.ended(index, record.offset.next()) {
                    return ControlFlow::Break(Err(error));
                }
                if count.is_some_and(|count| count <= printer.printed) {
                    return ControlFlow::Break(Ok(true));
                }
            }
            ControlFlow::Continue(())
        })?;
        let full = match flow {
            ControlFlow::Break(outcome) => outcome?,
            ControlFlow::Continue(()) => {
                // Markers and records that do not show count as read too.
                if self.in_group {
                    self.out.passed(index, fetched.next_offset());
                }
                false
            }
        };
        if plan.reached(tp, fetched.next_offset()) {
            self.consumer.pause(tp);
        }
        Ok(full)
    }

    /// Keeps what is before the end of the range until its turn comes.
    fn hold(&mut self, fetched: &Fetched, count: Option<u64>, plan: &mut Plan) -> anyhow::Result<bool> {
        let tp = fetched.tp();
        let end = plan.end(tp);
        let Reading { printer, merge: Some(merge), in_group, .. } = self else { return Ok(false) };
        let flow = fetched.for_each(|record| {
            if end.is_some_and(|end| end <= record.offset) {
                return ControlFlow::Break(());
            }
            if printer.keeps(fetched, record) {
                merge.push(tp, Item::Record(Held::of(fetched, record)));
            } else if *in_group {
                merge.push(tp, Item::Passed(record.offset.next()));
            }
            ControlFlow::Continue(())
        })?;
        if *in_group && flow.is_continue() {
            merge.push(tp, Item::Passed(fetched.next_offset()));
        }
        if plan.reached(tp, fetched.next_offset()) {
            self.consumer.pause(tp);
        }
        self.emit(count, plan, false)
    }

    /// Prints held records whose turn it is; `all`: every one. Gives whether the count is full.
    fn emit(&mut self, count: Option<u64>, plan: &Plan, all: bool) -> anyhow::Result<bool> {
        let Reading { printer, merge: Some(merge), out, .. } = self else { return Ok(false) };
        while let Some((tp, item)) = merge.next(plan.open(), all) {
            let index = out.index(&tp);
            match item {
                Item::Passed(next) => out.passed(index, next),
                Item::Record(held) => {
                    held.see(&tp, |row| printer.print_row(out.buffer(), row));
                    out.ended(index, held.offset.next())?;
                    if count.is_some_and(|count| count <= printer.printed) {
                        return Ok(true);
                    }
                }
            }
        }
        for (tp, is_full) in merge.turned() {
            // One that came to its end stays paused.
            if is_full {
                self.consumer.pause(&tp)
            } else if plan.open().contains(&tp) {
                self.consumer.resume(&tp)
            }
        }
        Ok(false)
    }

    /// In a group: where nothing was committed, reading begins as `-o` says.
    async fn assigned(&mut self, partitions: &BTreeSet<TopicPartition>, plan: &mut Plan) -> anyhow::Result<()> {
        let tps: Vec<TopicPartition> = partitions.iter().cloned().collect();
        let committed = self.consumer.committed(&tps).await?;
        for tp in &tps {
            let position = match committed.get(tp) {
                Some(committed) => Position::At(committed.offset),
                None => plan.position(tp),
            };
            self.consumer.seek(tp, position)?;
            if plan.assigned(tp, position) {
                self.consumer.pause(tp);
            }
        }
        plan.joined();
        self.talk.explain(format!("assigned {}", tps.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")));
        Ok(())
    }

    fn lose(&mut self, partitions: &BTreeSet<TopicPartition>, plan: &mut Plan, all: bool) {
        if all {
            plan.left();
        }
        for tp in partitions {
            self.out.forget(tp);
            if let Some(merge) = &mut self.merge {
                merge.forget(tp);
            }
            plan.lost(tp);
        }
    }

    fn fail(&mut self, tp: &TopicPartition, error: ClientError, plan: &mut Plan) {
        let failure = exit::of_client(&error, error.to_string());
        self.failed = true;
        let _ = self.out.flush();
        self.talk.warn(failure.message);
        if let Some(hint) = failure.hint {
            self.talk.warn(format!("  hint: {hint}"));
        }
        plan.lost(tp);
    }

    fn timed_out(&mut self, options: &Options) -> anyhow::Result<Ended> {
        let printed = self.printer.printed;
        match options.count {
            Some(count) => Err(Failure::failed("timeout", format!("only {printed} of {count} records came in time (--timeout)")).into()),
            None if self.failed => Ok(Ended::Failed),
            None => Ok(Ended::Done),
        }
    }

    async fn commit_now_and_then(&mut self) -> anyhow::Result<()> {
        if self.in_group && COMMIT_EVERY <= self.committed_at.elapsed() {
            self.commit().await?;
        }
        Ok(())
    }

    /// Commits what was handed over. A group that shares out its partitions anew takes no commits: the next time will do.
    async fn commit(&mut self) -> Result<bool, ClientError> {
        self.committed_at = Instant::now();
        if !self.in_group {
            return Ok(true);
        }
        let ours = self.consumer.assignment();
        let positions = self.out.positions().into_iter().filter(|(tp, _)| ours.contains(tp));
        let offsets: Vec<(TopicPartition, CommittedOffset)> = positions.map(|(tp, next)| (tp, CommittedOffset::at(next))).collect();
        match self.consumer.commit(&offsets).await {
            Ok(()) => Ok(true),
            Err(error) if error.code() == Some(ErrorCode::RebalanceInProgress) => Ok(false),
            // Others have the partitions already; they read what was not committed once more.
            Err(error) if matches!(error.code(), Some(ErrorCode::IllegalGeneration | ErrorCode::UnknownMemberId)) => {
                self.talk.explain(format!("not committed: {error}"));
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// The last commit: a group that is being shared out anew is waited for.
    async fn commit_last(&mut self) -> anyhow::Result<()> {
        let until = Instant::now() + LAST_COMMIT_MAX;
        while !self.commit().await? {
            if until < Instant::now() {
                return Err(Failure::failed("not_committed", "the group takes no commits while it is shared out anew").into());
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// However it ended: what can still be written is, what was handed over is committed, and the group is left.
    async fn end(mut self, ended: anyhow::Result<Ended>, options: &Options) -> anyhow::Result<Ended> {
        let flushed = self.out.flush().map_err(anyhow::Error::from);
        let committed = self.commit_last().await;
        let closed = self.consumer.close().await;
        self.talk.explain(format!("{} records", self.printer.printed));
        let ended = ended?;
        flushed?;
        committed?;
        if options.group.is_some() {
            closed?;
        }
        Ok(ended)
    }
}

/// What `-o` means where no flag is given.
fn default_range(range: Range) -> Edge {
    range.from.unwrap_or(Edge::Start)
}
