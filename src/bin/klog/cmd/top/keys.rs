//! What keys mean to `klog top`, and what those that act do to a node of a local cluster.

use klog::cluster::{Cluster, Home};
use klog::types::BrokerId;
use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::cmd::cluster::{failure, program};
use crate::exit::{self, Failure};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The end.
    Leave,
    /// The node above.
    Up,
    /// The node below.
    Down,
    /// The node of this number.
    Choose(i32),
    /// Something done to the chosen node.
    Do(Deed),
}

/// What can be done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// SIGKILL.
    Kill,
    /// SIGSTOP.
    Pause,
    /// SIGCONT.
    Resume,
    /// A clean stop.
    Stop,
    /// A start.
    Start,
    /// Cut off from all others.
    Isolate,
    /// All faults of the whole network taken away.
    Heal,
}

/// What a key means.
pub fn meaning(event: &Event) -> Option<Act> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release {
        return None;
    }
    // In raw mode ^C is a key as any other.
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Act::Leave);
    }
    Some(match key.code {
        KeyCode::Char('q') => Act::Leave,
        KeyCode::Up | KeyCode::BackTab => Act::Up,
        KeyCode::Down | KeyCode::Tab => Act::Down,
        KeyCode::Char(digit @ '0'..='9') => Act::Choose(i32::from(digit as u8 - b'0')),
        KeyCode::Char('k') => Act::Do(Deed::Kill),
        KeyCode::Char('p') => Act::Do(Deed::Pause),
        KeyCode::Char('r') => Act::Do(Deed::Resume),
        KeyCode::Char('x') => Act::Do(Deed::Stop),
        KeyCode::Char('s') => Act::Do(Deed::Start),
        KeyCode::Char('i') => Act::Do(Deed::Isolate),
        KeyCode::Char('h') => Act::Do(Deed::Heal),
        _ => return None,
    })
}

impl Deed {
    /// What is said while it is done.
    pub fn doing(self, id: BrokerId) -> String {
        match self {
            Deed::Kill => format!("killing node {id}…"),
            Deed::Pause => format!("pausing node {id}…"),
            Deed::Resume => format!("resuming node {id}…"),
            Deed::Stop => format!("stopping node {id}…"),
            Deed::Start => format!("starting node {id}…"),
            Deed::Isolate => format!("isolating node {id}…"),
            Deed::Heal => "healing the network…".to_owned(),
        }
    }

    fn done(self, id: BrokerId) -> String {
        match self {
            Deed::Kill => format!("node {id} was killed"),
            Deed::Pause => format!("node {id} stands still"),
            Deed::Resume => format!("node {id} goes on"),
            Deed::Stop => format!("node {id} was stopped"),
            Deed::Start => format!("node {id} was started"),
            Deed::Isolate => format!("node {id} is cut off from the others"),
            Deed::Heal => "nothing is wrong between the nodes".to_owned(),
        }
    }
}

/// Does it, and gives what there is to say.
pub async fn act(home: Home, deed: Deed, id: BrokerId) -> String {
    match try_act(&home, deed, id).await {
        Ok(()) => deed.done(id),
        Err(Failure { message, hint: Some(hint), .. }) => format!("{message} ({hint})"),
        Err(Failure { message, hint: None, .. }) => message,
    }
}

async fn try_act(home: &Home, deed: Deed, id: BrokerId) -> Result<(), Failure> {
    let program = program().map_err(|error| exit::explain(&error))?;
    let mut cluster = Cluster::open(home).await.map_err(failure)?;
    let others: Vec<BrokerId> = cluster.state().ids().into_iter().filter(|other| *other != id).collect();
    let done = match deed {
        Deed::Kill => cluster.kill(id),
        Deed::Pause => cluster.pause(id),
        Deed::Resume => cluster.resume(id),
        Deed::Stop => cluster.stop(&[id]).await.map(drop),
        Deed::Start => match cluster.state().node(id).map(|node| node.alive().is_some()) {
            Ok(false) => cluster.start(&[id], &program).await.map(drop),
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        },
        Deed::Isolate => match cluster.cut(&[id], &others) {
            Ok(()) => cluster.tell_faults().await,
            Err(error) => Err(error),
        },
        Deed::Heal => match cluster.heal(&[]) {
            Ok(()) => cluster.tell_faults().await,
            Err(error) => Err(error),
        },
    };
    done.map_err(failure)
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::KeyEvent;

    use super::*;

    #[test]
    fn keys() {
        let key = |code, modifiers| meaning(&Event::Key(KeyEvent::new(code, modifiers)));
        let plain = |letter| key(KeyCode::Char(letter), KeyModifiers::NONE);
        assert_eq!(plain('q'), Some(Act::Leave));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Act::Leave));
        // Nobody who wants to end a line kills a node.
        assert_eq!(key(KeyCode::Char('k'), KeyModifiers::CONTROL), None);
        assert_eq!(plain('c'), None);
        assert_eq!(key(KeyCode::Down, KeyModifiers::NONE), Some(Act::Down));
        assert_eq!(plain('3'), Some(Act::Choose(3)));
        let deeds = ['k', 'p', 'r', 'x', 's', 'i', 'h'].map(plain);
        let meant = [Deed::Kill, Deed::Pause, Deed::Resume, Deed::Stop, Deed::Start, Deed::Isolate, Deed::Heal];
        assert_eq!(deeds, meant.map(|deed| Some(Act::Do(deed))));
    }
}
