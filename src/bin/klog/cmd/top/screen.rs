//! The terminal of `klog top`: taken over, drawn on, and given back however the command ends.
//! It must never know where what it draws comes from.

use std::io;

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row, Table};
use ratatui::{DefaultTerminal, Frame};

use super::picture::{GROUP_HEADERS, NODE_HEADERS, Picture, TOPIC_HEADERS};

/// The terminal while it is ours: raw, on its other screen. Dropping it gives it back; a panic does before it says anything.
pub struct Screen {
    terminal: DefaultTerminal,
}

/// What a person did, beside the picture.
#[derive(Clone, Debug, Default)]
pub struct Hand {
    /// Which row of the nodes is chosen.
    pub chosen: usize,
    /// Whether keys can act on the nodes.
    pub acts: bool,
    /// What was done last.
    pub message: String,
}

impl Screen {
    /// Takes it over.
    pub fn open() -> io::Result<Screen> {
        Ok(Screen { terminal: ratatui::try_init()? })
    }

    /// Shows a picture; only cells that changed are written.
    pub fn draw(&mut self, picture: &Picture, hand: &Hand) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame, picture, hand)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // One that is gone needs nothing back.
        let _ = ratatui::try_restore();
    }
}

fn draw(frame: &mut Frame<'_>, picture: &Picture, hand: &Hand) {
    let rows = |count: usize| Constraint::Length(u16::try_from(count).unwrap_or(u16::MAX).saturating_add(2));
    let groups = if picture.groups.is_empty() { Constraint::Length(0) } else { Constraint::Fill(1) };
    let parts =
        [Constraint::Length(2), rows(picture.nodes.len()), Constraint::Fill(2), groups, Constraint::Length(1), Constraint::Length(1)];
    let [title, nodes, topics, below, message, keys] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(picture.title.as_str()).style(Modifier::BOLD), title);
    let bad = |well: bool| if well { Style::new() } else { Style::new().fg(Color::Red) };
    let each = picture.nodes.iter().enumerate().map(|(at, node)| {
        let chosen = hand.acts && at == hand.chosen;
        let style = if chosen { bad(node.well).add_modifier(Modifier::REVERSED) } else { bad(node.well) };
        (node.cells(), style)
    });
    table(frame, nodes, NODE_HEADERS, each.collect());
    let each = picture.topics.iter().map(|topic| (topic.cells(), bad(topic.in_sync.0 == topic.in_sync.1)));
    table(frame, topics, TOPIC_HEADERS, each.collect());
    let late = |lag: Option<i64>| if lag.is_some_and(|lag| 0 < lag) { Style::new().fg(Color::Yellow) } else { Style::new() };
    let each = picture.groups.iter().map(|group| (group.cells(), late(group.look.lag)));
    table(frame, below, GROUP_HEADERS, each.collect());
    let said = if hand.message.is_empty() { picture.problems.join("; ") } else { hand.message.clone() };
    frame.render_widget(Paragraph::new(said), message);
    let known = if hand.acts { "↑ ↓ node  k kill  p pause  r resume  i isolate  h heal  x stop  s start  q quit" } else { "q quit" };
    frame.render_widget(Line::from(known).style(Modifier::DIM), keys);
}

/// Columns as wide as what is in them, as far as the rows that fit.
fn table(frame: &mut Frame<'_>, area: Rect, headers: &[&str], rows: Vec<(Vec<String>, Style)>) {
    let visible = usize::from(area.height.saturating_sub(1));
    let widths = (0..headers.len()).map(|at| {
        let header = headers.get(at).map_or(0, |header| header.len());
        let cells = rows.iter().take(visible).filter_map(|(cells, _)| cells.get(at)).map(|cell| cell.chars().count());
        Constraint::Length(u16::try_from(cells.max().unwrap_or(0).max(header)).unwrap_or(u16::MAX))
    });
    let widths: Vec<Constraint> = widths.collect();
    let rows = rows.into_iter().take(visible).map(|(cells, style)| Row::new(cells).style(style));
    let header = Row::new(headers.iter().map(|header| header.to_uppercase())).style(Modifier::DIM);
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(2), area);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::picture::tests::{look, topic};
    use super::*;

    fn lines(picture: &Picture, hand: &Hand, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, picture, hand)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(line).collect()
    }

    #[test]
    fn a_screen() {
        let before = look(1, vec![topic("orders", 100, 1000, &[1, 2])], &[("billing", 60, 40)]);
        let now = look(2, vec![topic("orders", 110, 3048, &[1])], &[("billing", 50, 60)]);
        let hand = Hand { acts: true, message: "node 2 was killed".to_owned(), ..Hand::default() };
        let shown = lines(&Picture::of(Some(&before), &now), &hand, 100, 16);
        let expected = [
            "2 brokers  1 partitions, 0 lack a replica  10 records/s  2.0 KiB/s",
            "",
            "NODE  STATE  ROLE        LEADER OF  IN SYNC  MEMORY  DISK  ADDRESS",
            "1     known  -           1          1/1      -       -     h:1",
            "2     known  controller  0          0/0      -       -     h:2",
            "",
            "TOPIC   PARTITIONS  IN SYNC  RECORDS  RECORDS/S  SIZE     BYTES/S    LEADERS",
            "orders  1           1/2      110      10         3.0 KiB  2.0 KiB/s  1",
        ];
        assert_eq!(shown[..8], expected);
        assert!(shown.contains(&"billing  Stable  1        50   20".to_owned()), "{shown:#?}");
        assert_eq!(shown[14], "node 2 was killed");
        assert!(shown[15].ends_with("q quit"));
    }

    #[test]
    fn a_small_screen_shows_what_fits() {
        let topics = (0..50).map(|number| topic(&format!("t{number:02}"), 1, 1, &[1, 2])).collect();
        let picture = Picture::of(None, &look(1, topics, &[("g", 1, 1)]));
        for (width, height) in [(1, 1), (20, 3), (40, 10), (300, 100)] {
            assert_eq!(lines(&picture, &Hand::default(), width, height).len(), usize::from(height));
        }
    }
}
