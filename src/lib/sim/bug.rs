//! Mistakes on purpose, which only these shells know.

/// What a shell does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A follower counts as having one record more than it has.
    MarkOffByOne,
    /// A follower counts as having all that is committed, so that it comes into the ISR at once.
    IsrTooEarly,
    /// A vote, and the term it was given in, is not synced.
    VoteNotSynced,
    /// A leader does not tell a follower where their logs part, so nothing is ever cut.
    NothingCut,
    /// A follower's position counts before its epoch is looked at.
    StaleEpochAccepted,
    /// A new leader does not know what producers wrote to the one before.
    DedupeNotRebuilt,
    /// A node that lost power says that it lost nothing.
    CleanClaimed,
    /// The controller answers before its records are committed.
    AnsweredEarly,
    /// Consumers are given all that the leader has.
    ReadPastMark,
    /// A follower comes into the ISR before it has what was there when the leader's epoch began.
    EpochStartIgnored,
    /// A new coordinator does not read what the one before it wrote.
    GroupsForgotten,
}

impl Bug {
    /// All of them.
    pub const ALL: [Bug; 11] = [
        Bug::MarkOffByOne,
        Bug::IsrTooEarly,
        Bug::VoteNotSynced,
        Bug::NothingCut,
        Bug::StaleEpochAccepted,
        Bug::DedupeNotRebuilt,
        Bug::CleanClaimed,
        Bug::AnsweredEarly,
        Bug::ReadPastMark,
        Bug::EpochStartIgnored,
        Bug::GroupsForgotten,
    ];
}
