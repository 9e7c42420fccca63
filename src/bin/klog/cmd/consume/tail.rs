//! `--tail N`: the last records of all partitions together. Each partition is read in windows from its end backwards, as far as it
//! may still have one of the last N: markers, gaps that compaction left and conditions make windows thinner than they are long.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::time::Instant;

use klog::client::{Event, Isolation, Position};
use klog::types::{Offset, RecordCount, TopicName, TopicPartition};

use super::held::Held;
use super::options::Options;
use super::{POLL, Reading};
use crate::cmd::place::{self, Ends};
use crate::session::Session;
use crate::signals::Stop;

/// What is known of the ends of partitions.
pub struct Windows {
    count: usize,
    partitions: BTreeMap<TopicPartition, Window>,
}

struct Window {
    log_start: Offset,
    /// Where the partition ended when it began.
    end: Offset,
    /// Everything from here to the end was read.
    start: Offset,
    /// The next window: up to `start`.
    from: Offset,
    /// The last records, oldest first; never more than asked for.
    last: VecDeque<Held>,
    /// What the window that is being read brought.
    fresh: VecDeque<Held>,
}

impl Windows {
    /// Pins the ends.
    pub fn new(session: &Session, options: &Options, topics: &[TopicName], count: usize) -> anyhow::Result<Windows> {
        let isolation: Isolation = session.client.config().consumer.isolation;
        let mut tps = Vec::new();
        for topic in topics {
            tps.extend(place::partitions_of(session, topic.as_str(), options.partitions.as_ref())?);
        }
        let mut ends = Ends::read_as(session, &tps, isolation)?;
        if let Some((_, error)) = ends.failed.pop() {
            return Err(error.into());
        }
        let window = |tp: &TopicPartition| {
            let (log_start, end) = ends.of(tp)?;
            Some((tp.clone(), Window { log_start, end, start: end, from: end, last: VecDeque::new(), fresh: VecDeque::new() }))
        };
        Ok(Windows { count, partitions: tps.iter().filter_map(window).collect() })
    }

    /// Chooses the next windows. Gives where to begin in each partition that has to be read further back.
    fn next(&mut self) -> Vec<(TopicPartition, Position)> {
        let oldest = self.oldest_kept();
        let mut asked = Vec::new();
        for (tp, window) in &mut self.partitions {
            if self.count <= window.last.len() || window.start <= window.log_start {
                continue;
            }
            // With enough younger ones elsewhere, those before its own oldest are of no use.
            if oldest.is_some_and(|oldest| window.last.front().is_some_and(|held| held.timestamp < oldest)) {
                continue;
            }
            let wanted = self.count.max(usize::try_from((window.end - window.start).get()).unwrap_or(usize::MAX));
            let before = (window.start - window.log_start).get().min(i64::try_from(wanted).unwrap_or(i64::MAX));
            window.from = window.start + RecordCount::new(-before);
            asked.push((tp.clone(), Position::At(window.from)));
        }
        asked
    }

    /// The time of the oldest of the last N, where there are so many.
    fn oldest_kept(&self) -> Option<i64> {
        let mut times: Vec<i64> = self.partitions.values().flat_map(|window| &window.last).map(|held| held.timestamp).collect();
        times.sort_unstable();
        times.len().checked_sub(self.count.max(1)).and_then(|at| times.get(at)).copied()
    }

    /// A window was read.
    fn read(&mut self, tp: &TopicPartition) {
        let count = self.count;
        let Some(window) = self.partitions.get_mut(tp) else { return };
        window.start = window.from;
        window.fresh.append(&mut window.last);
        window.last = std::mem::take(&mut window.fresh);
        while count < window.last.len() {
            window.last.pop_front();
        }
    }

    /// The last of them, in order of time.
    fn finish(self) -> (Vec<(TopicPartition, Held)>, BTreeMap<TopicPartition, Offset>) {
        let ends = self.partitions.iter().map(|(tp, window)| (tp.clone(), window.end)).collect();
        let mut all = Vec::new();
        for (tp, window) in self.partitions {
            // Within a partition the order of offsets is kept, whatever the clocks of producers said.
            let mut newest = i64::MIN;
            for held in window.last {
                newest = newest.max(held.timestamp);
                all.push((newest, tp.clone(), held));
            }
        }
        all.sort_by(|a, b| (a.0, &a.1, a.2.offset).cmp(&(b.0, &b.1, b.2.offset)));
        let last = all.split_off(all.len().saturating_sub(self.count));
        (last.into_iter().map(|(_, tp, held)| (tp, held)).collect(), ends)
    }
}

impl Reading<'_> {
    /// Prints the last records. Gives where to read on, if there is more to do.
    pub async fn tail(
        &mut self,
        mut windows: Windows,
        options: &Options,
        mut stop: Stop,
    ) -> anyhow::Result<Option<BTreeMap<TopicPartition, Offset>>> {
        loop {
            let asked = windows.next();
            if asked.is_empty() {
                break;
            }
            let mut open: BTreeMap<TopicPartition, Offset> =
                asked.iter().filter_map(|(tp, _)| Some((tp.clone(), windows.partitions.get(tp)?.start))).collect();
            self.assign(&asked).await?;
            let mut last_news = Instant::now();
            while !open.is_empty() {
                let event = tokio::select! {
                    event = self.consumer.poll(POLL) => event?,
                    () = stop.wait() => return Ok(None),
                };
                let passed = match event {
                    Some(event) => {
                        last_news = Instant::now();
                        self.window(event, &mut windows, &open)?
                    }
                    // What was deleted since shows in the position alone.
                    None => open.keys().filter_map(|tp| Some((tp.clone(), self.consumer.position(tp)?))).collect(),
                };
                for (tp, next) in passed {
                    if open.get(&tp).is_some_and(|end| *end <= next) {
                        open.remove(&tp);
                        self.consumer.pause(&tp);
                        windows.read(&tp);
                    }
                }
                if options.timeout.is_some_and(|timeout| timeout <= last_news.elapsed()) {
                    return self.timed_out(options).map(|_| None);
                }
            }
        }
        let (last, ends) = windows.finish();
        for (tp, held) in last {
            held.see(&tp, |row| self.printer.print_row(self.out.buffer(), row));
            let index = self.out.index(&tp);
            self.out.ended(index, held.offset.next())?;
            if options.count.is_some_and(|count| count <= self.printer.printed) {
                return Ok(None);
            }
        }
        self.out.flush()?;
        Ok(if options.exit { None } else { Some(ends) })
    }

    /// Keeps what came. Gives how far partitions were read.
    fn window(
        &mut self,
        event: Event,
        windows: &mut Windows,
        open: &BTreeMap<TopicPartition, Offset>,
    ) -> anyhow::Result<Vec<(TopicPartition, Offset)>> {
        match event {
            Event::Records(fetched) => {
                let tp = fetched.tp().clone();
                let (Some(window), Some(end)) = (windows.partitions.get_mut(&tp), open.get(&tp)) else { return Ok(Vec::new()) };
                let flow = fetched.for_each(|record| {
                    if *end <= record.offset {
                        return ControlFlow::Break(());
                    }
                    if self.printer.keeps(&fetched, record) {
                        window.fresh.push_back(Held::of(&fetched, record));
                        if windows.count < window.fresh.len() {
                            window.fresh.pop_front();
                        }
                    }
                    ControlFlow::Continue(())
                })?;
                let next = if flow.is_break() { *end } else { fetched.next_offset() };
                Ok(vec![(tp, next)])
            }
            Event::Failed { tp, error } => {
                self.fail(&tp, error, &mut super::Plan::default());
                Ok(vec![(tp, Offset::new(i64::MAX).unwrap_or_default())])
            }
            // Only groups have them.
            Event::Assigned(_) | Event::Revoked(_) | Event::Lost(_) => Ok(Vec::new()),
        }
    }
}
