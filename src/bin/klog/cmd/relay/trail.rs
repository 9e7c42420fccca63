//! Where the records of one partition went: offsets on both sides, kept as the few points at which their distance changes (markers and
//! what compaction took leave gaps on one side only). Pure.

use std::collections::VecDeque;

use klog::types::{Offset, RecordCount};

/// The most points that are remembered; older ones are forgotten, and positions before them cannot be translated any more.
const POINTS_MAX: usize = 10_000;

/// A way through two logs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trail {
    /// Source and target of a record, ascending. From one to the next both sides advance alike.
    points: VecDeque<(Offset, Offset)>,
    /// Points were forgotten, or the way did not begin where the source did.
    cut: bool,
}

impl Trail {
    /// A way whose beginning is not known.
    pub fn cut() -> Trail {
        Trail { cut: true, ..Trail::default() }
    }

    /// The record at `source` was stored at `target`.
    pub fn note(&mut self, source: Offset, target: Offset) {
        let goes_on = self.points.back().is_some_and(|(last_source, last_target)| source - *last_source == target - *last_target);
        if goes_on {
            return;
        }
        self.points.push_back((source, target));
        while POINTS_MAX < self.points.len() {
            self.points.pop_front();
            self.cut = true;
        }
    }

    /// Where a reader that goes on at `source` goes on in the target, which ends at `end`: at the first record that it has not had.
    pub fn translate(&self, source: Offset, end: Offset) -> Option<Offset> {
        let after = self.points.partition_point(|(from, _)| *from <= source);
        let next = self.points.get(after).map_or(end, |(_, target)| *target);
        match after.checked_sub(1).and_then(|at| self.points.get(at)) {
            Some((from, target)) => Some((*target + RecordCount::new((source - *from).get())).min(next).min(end)),
            None if self.cut => None,
            None => Some(next),
        }
    }

    /// As text of at most `bytes_max`: the newest points.
    pub fn encode(&self, bytes_max: usize) -> String {
        let mut kept: VecDeque<String> = VecDeque::new();
        let mut len = 1;
        for (source, target) in self.points.iter().rev() {
            let point = format!("{source}:{target}");
            if bytes_max < len + point.len() + 1 {
                break;
            }
            len += point.len() + 1;
            kept.push_front(point);
        }
        // A way from the very beginning says so.
        let whole = !self.cut && kept.len() == self.points.len();
        format!("{}{}", if whole { "^" } else { "" }, kept.into_iter().collect::<Vec<_>>().join(","))
    }

    /// Reads what [`Trail::encode`] wrote; anything else is a way that is not known.
    pub fn decode(text: &str) -> Trail {
        let (cut, list) = match text.strip_prefix('^') {
            Some(list) => (false, list),
            None => (true, text),
        };
        let offset = |text: &str| text.parse().ok().and_then(Offset::new);
        let point = |text: &str| text.split_once(':').and_then(|(source, target)| Some((offset(source)?, offset(target)?)));
        let points: Option<VecDeque<(Offset, Offset)>> = list.split(',').filter(|text| !text.is_empty()).map(point).collect();
        points.map_or_else(Trail::cut, |points| Trail { points, cut })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn offset(number: i64) -> Offset {
        Offset::new(number).unwrap()
    }

    /// Source 5, 6, 7, (marker 8), 9, (marker 10) became 0, 1, 2, 3.
    fn trail() -> Trail {
        let mut trail = Trail::default();
        for (source, target) in [(5, 0), (6, 1), (7, 2), (9, 3)] {
            trail.note(offset(source), offset(target));
        }
        trail
    }

    #[track_caller]
    fn check(trail: &Trail, expected: &[(i64, Option<i64>)]) {
        for (source, target) in expected {
            assert_eq!(trail.translate(offset(*source), offset(4)).map(|offset| offset.get()), *target, "{source}");
        }
    }

    #[test]
    fn a_position_becomes_that_of_the_next_record() {
        check(
            &trail(),
            &[(0, Some(0)), (5, Some(0)), (6, Some(1)), (8, Some(3)), (9, Some(3)), (10, Some(4)), (11, Some(4)), (99, Some(4))],
        );
        assert_eq!(trail().points.len(), 2);
        check(&Trail::default(), &[(7, Some(4))]);
        check(&Trail::cut(), &[(7, None)]);
    }

    #[test]
    fn a_position_among_markers_is_that_of_the_record_behind_them() {
        let mut trail = trail();
        trail.note(offset(20), offset(4));
        let at = |source| trail.translate(offset(source), offset(9)).map(|offset| offset.get());
        assert_eq!([at(9), at(10), at(15), at(20), at(21)], [Some(3), Some(4), Some(4), Some(4), Some(5)]);
    }

    #[test]
    fn the_newest_points_survive_as_text() {
        assert_eq!(trail().encode(100), "^5:0,9:3");
        assert_eq!(Trail::decode("^5:0,9:3"), trail());
        let short = Trail::decode(&trail().encode(5));
        check(&short, &[(5, None), (9, Some(3)), (10, Some(4))]);
        for text in ["", "x", "1:2:3", "1"] {
            check(&Trail::decode(text), &[(5, None)]);
        }
    }
}
