//! `klog top`: a cluster watched on a terminal, or one snapshot of it. `look.rs` asks, `picture.rs` computes, `screen.rs` draws and
//! `keys.rs` acts.

mod keys;
mod look;
mod picture;
mod screen;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use clap::ArgMatches;
use klog::client::Client;
use klog::cluster::{self, Cluster, Home};
use ratatui::crossterm::event;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::topic::{patterns, text, texts};
use crate::exit::{FAILED, Failure, Silent};
use crate::output::Talk;
use crate::session::{self, Session};
use crate::signals::Stop;
use crate::text::time::parse_duration;

use keys::Act;
use look::{Looker, Wanted};
use picture::{GROUP_HEADERS, GroupRow, Look, NODE_HEADERS, NodeRow, Picture, TOPIC_HEADERS, TopicRow};
use screen::{Hand, Screen};

const INTERVAL: Duration = Duration::from_secs(1);
/// Rates of shorter times would say more of the measuring than of what is measured.
const INTERVAL_MIN: Duration = Duration::from_millis(50);
/// A node that stands still must not hold up what the others have to say.
const PATIENCE: [(&str, &str); 3] =
    [("socket.connection.setup.timeout.ms", "1000"), ("request.timeout.ms", "1000"), ("default.api.timeout.ms", "2000")];

/// Watches, or shows one snapshot.
pub fn run(matches: &ArgMatches, talk: Talk) -> anyhow::Result<()> {
    let interval = text(matches, "interval").map(parse_duration).transpose()?.unwrap_or(INTERVAL);
    if interval < INTERVAL_MIN {
        return Err(Failure::usage(format!("--interval: at least {INTERVAL_MIN:?}")).into());
    }
    let wanted = wanted(matches)?;
    let mut config = session::config(matches, talk)?;
    for (key, value) in PATIENCE {
        if !texts(matches, "property").iter().any(|property| property.split('=').next() == Some(key)) {
            config.set(key, value)?;
        }
    }
    let session = Session::open_parallel(config)?;
    let client = session.client.clone();
    let looker = Looker { home: local(&client), client, wanted, began: Instant::now(), groups: Default::default() };
    let live = !talk.json && !matches.get_flag("once") && io::stdout().is_terminal();
    let outcome = match live {
        true => session.wait(watch(looker, interval)),
        false => session.wait(snapshot(looker, interval, talk)),
    };
    // What is still asked of brokers is of no interest any more.
    session.leave();
    outcome
}

fn wanted(matches: &ArgMatches) -> Result<Wanted, Failure> {
    let named = texts(matches, "topic");
    let is_regex = matches.get_flag("regex");
    let quoted: Vec<String> = named.iter().map(|name| if is_regex { (*name).to_owned() } else { regex::escape(name) }).collect();
    let patterns = patterns(&quoted.iter().map(String::as_str).collect::<Vec<_>>())?;
    // A topic that is named is wanted, whoever keeps it.
    let internal = matches.get_flag("internal") || (!named.is_empty() && !is_regex);
    Ok(Wanted { patterns: patterns.into_iter().map(|(_, pattern)| pattern).collect(), internal })
}

/// The local cluster whose nodes these brokers are.
fn local(client: &Client) -> Option<Home> {
    let known = client.cluster();
    let of_variable = Home::pick(None).ok();
    let all = cluster::names().unwrap_or_default().into_iter().filter_map(|name| Home::named(&name).ok());
    of_variable.into_iter().chain(all).find(|home| {
        let Ok(state) = Cluster::peek(home) else { return false };
        let mut living = state.nodes.iter().filter(|node| node.alive().is_some());
        living.any(|node| known.brokers.values().any(|broker| broker.address == node.address()))
    })
}

async fn snapshot(mut looker: Looker, interval: Duration, talk: Talk) -> anyhow::Result<()> {
    let mut stop = Stop::install()?;
    let looked = async {
        let before = looker.look().await;
        tokio::time::sleep(interval).await;
        (before, looker.look().await)
    };
    let (before, now) = tokio::select! {
        looks = looked => looks,
        () = stop.wait() => return Err(Silent(FAILED).into()),
    };
    let picture = Picture::of(Some(&before), &now);
    if talk.json {
        talk.object(&picture.json())?;
    } else {
        talk.note(&picture.title);
        talk.table(NODE_HEADERS, &picture.nodes.iter().map(NodeRow::cells).collect::<Vec<_>>())?;
        talk.line("")?;
        talk.table(TOPIC_HEADERS, &picture.topics.iter().map(TopicRow::cells).collect::<Vec<_>>())?;
        talk.line("")?;
        talk.table(GROUP_HEADERS, &picture.groups.iter().map(GroupRow::cells).collect::<Vec<_>>())?;
        picture.problems.iter().for_each(|problem| talk.warn(problem));
    }
    if picture.problems.is_empty() { Ok(()) } else { Err(Silent(FAILED).into()) }
}

async fn watch(mut looker: Looker, interval: Duration) -> anyhow::Result<()> {
    let mut stop = Stop::install()?;
    let mut hangup = signal(SignalKind::hangup())?;
    let home = looker.home.clone();
    let mut hand = Hand { acts: home.is_some(), ..Hand::default() };
    let mut screen = Screen::open()?;
    let (events_in, mut events) = mpsc::channel(16);
    // It ends with the process, or with the terminal.
    std::thread::spawn(move || while event::read().is_ok_and(|event| events_in.blocking_send(event).is_ok()) {});
    let (looks_in, mut looks) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            let began = Instant::now();
            if looks_in.send(looker.look().await).await.is_err() {
                return None;
            }
            tokio::time::sleep(interval.saturating_sub(began.elapsed())).await;
        }
    });
    let mut before = None::<Look>;
    let mut picture = Picture::default();
    loop {
        screen.draw(&picture, &hand)?;
        tokio::select! {
            () = stop.wait() => return Ok(()),
            _ = hangup.recv() => return Ok(()),
            event = events.recv() => {
                let Some(event) = event else { return Ok(()) };
                let node = picture.nodes.get(hand.chosen).map(|node| node.id);
                match keys::meaning(&event) {
                    Some(Act::Leave) => return Ok(()),
                    Some(Act::Up) => hand.chosen = hand.chosen.saturating_sub(1),
                    Some(Act::Down) => hand.chosen = (hand.chosen + 1).min(picture.nodes.len().saturating_sub(1)),
                    Some(Act::Choose(number)) => {
                        hand.chosen = picture.nodes.iter().position(|node| node.id.get() == number).unwrap_or(hand.chosen);
                    }
                    Some(Act::Do(deed)) => match (&home, node) {
                        (Some(home), Some(id)) => {
                            hand.message = deed.doing(id);
                            let home = home.clone();
                            tasks.spawn(async move { Some(keys::act(home, deed, id).await) });
                        }
                        (Some(_) | None, _) => hand.message = "only nodes of a local cluster can be acted on".to_owned(),
                    },
                    None => (),
                }
            }
            look = looks.recv() => {
                let Some(look) = look else { return Err(Failure::failed("failed", "the brokers are not watched any more").into()) };
                picture = Picture::of(before.as_ref(), &look);
                before = Some(look);
            }
            Some(done) = tasks.join_next() => {
                if let Some(message) = done? {
                    hand.message = message;
                }
            }
        }
    }
}
