//! `klog produce`: bytes of stdin or of files become records, records become batches, outcomes are counted.
//!
//! `Source (reads, waits, hears signals) → Shape (divides) → Sink (adds what the flags say, hands to the client) → Outcome (counts)`

mod options;
mod outcome;
mod sink;
mod source;

use std::time::Instant;

use anyhow::Context;
use clap::ArgMatches;
use klog::client::{NewTopic, Topics};
use klog::types::TopicName;
use serde_json::json;

use crate::exit::{FAILED, Failure, Silent};
use crate::output::{Talk, Unit};
use crate::session::{self, Session};
use crate::signals::Stop;
use crate::text::input::{BadInput, Shape, Step};
use options::{Create, Input, Options};
use outcome::Outcome;
use sink::Sink;
use source::{Filled, Source};

/// Reads all input and stores it.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let options = Options::read(matches)?;
    let mut config = session::config(matches, talk)?;
    config.allow_auto_create = true;
    for (key, value) in &options.properties {
        config.set(key, value)?;
    }
    let session = Session::open_parallel(config)?;
    if let (Some(create), Some(topic)) = (&options.create, &options.topic) {
        make_topic(&session, topic, create, talk)?;
    }
    let stop = session.enter(Stop::install_fd)?;
    let outcome = Outcome::new(&options, talk)?;
    let mut sink = Sink::new(&session, &options, outcome.clone())?;
    let started = Instant::now();
    let mut fed = Fed::default();
    let done = feed_all(&options, &mut sink, &stop, &mut fed, talk);
    // Whatever went wrong with the input: what was read before is stored.
    sink.close()?;
    outcome.finish()?;
    done?;

    let seconds = started.elapsed().as_secs_f64();
    let (stored, failed) = (outcome.stored(), outcome.failed());
    let rate = if 0.0 < seconds { stored as f64 / seconds } else { 0.0 };
    if talk.json {
        talk.object(&json!({ "records": stored, "bytes": fed.bytes, "failed": failed, "seconds": seconds }))?;
    } else {
        let lost = if failed == 0 { String::new() } else { format!(", {failed} not stored") };
        talk.note(format!("{stored} records, {:.1} MB in {seconds:.2} s ({rate:.0} records/s){lost}", fed.bytes as f64 / 1e6));
    }
    if failed == 0 { Ok(()) } else { Err(Silent(FAILED).into()) }
}

/// How much was read.
#[derive(Debug, Default)]
struct Fed {
    bytes: u64,
    records: u64,
}

fn feed_all(options: &Options, sink: &mut Sink<'_>, stop: &crate::signals::StopFd, fed: &mut Fed, talk: Talk) -> anyhow::Result<()> {
    let files = match &options.input {
        Input::Stdin => return feed(&options.shape, &mut Source::stdin(stop)?, sink, fed, talk).context("reading stdin"),
        Input::Files(files) => files,
    };
    for path in files {
        let mut source = Source::file(path, stop).with_context(|| path.display().to_string())?;
        feed(&options.shape, &mut source, sink, fed, talk).with_context(|| path.display().to_string())?;
        if stop.asked() {
            break;
        }
    }
    Ok(())
}

/// One source, to its end or to a signal. Bad records of a kind that has an end are told, and the next ones are read.
fn feed(shape: &Shape, source: &mut Source<'_>, sink: &mut Sink<'_>, fed: &mut Fed, talk: Talk) -> anyhow::Result<()> {
    let mut progress = talk.progress("produced", source.length(), Unit::Bytes);
    let mut read = 0;
    loop {
        let filled = source.fill(|| sink.nudge())?;
        let at_end = filled == Filled::End;
        let mut taken = 0;
        let bytes = source.bytes();
        loop {
            match shape.step(&bytes[taken..], at_end) {
                Ok(Step::Record(parsed, consumed)) => {
                    fed.records += 1;
                    taken += consumed;
                    sink.push(&parsed, fed.records)?;
                    // All of the input was this one; asked again, there would be an empty one behind it.
                    if matches!(shape, Shape::Whole) {
                        break;
                    }
                }
                Ok(Step::Skip(consumed)) => {
                    fed.records += 1;
                    taken += consumed;
                }
                Ok(Step::More) => break,
                Err(BadInput { reason, consumed }) => {
                    fed.records += 1;
                    let Some(consumed) = consumed else {
                        return Err(Failure::failed("bad_input", format!("record {}: {reason}", fed.records)).into());
                    };
                    sink.refuse(fed.records, &reason)?;
                    taken += consumed;
                }
            }
            if sink.is_paced() && sink.pace(source.stop())? {
                break;
            }
        }
        read += taken as u64;
        fed.bytes += taken as u64;
        source.consume(taken);
        progress.set(read);
        match filled {
            Filled::More => {}
            Filled::End => break,
            Filled::Stopped => {
                if !source.bytes().is_empty() {
                    talk.note(format!("{} bytes of an unfinished record were left out", source.bytes().len()));
                }
                break;
            }
        }
    }
    progress.clear();
    Ok(())
}

/// `--create`: nothing happens where the topic is there already.
fn make_topic(session: &Session, topic: &TopicName, create: &Create, talk: Talk) -> anyhow::Result<()> {
    let names = [topic.clone()];
    if session.wait(session.client.metadata(Topics::Named(&names)))?.topics.contains_key(topic) {
        return Ok(());
    }
    let new = NewTopic { name: topic.to_string(), partitions: create.partitions, replicas: create.replicas, ..NewTopic::default() };
    for (_, outcome) in session.wait(session.client.admin().create_topics(&[new], false))? {
        match outcome {
            Err(error) if error.code() == Some(klog::client::ErrorCode::TopicAlreadyExists) => {}
            outcome => {
                outcome?;
            }
        }
    }
    session.wait(session.client.topic_made(topic, 1))?;
    talk.note(format!("topic {topic} was created"));
    Ok(())
}
