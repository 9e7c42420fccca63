//! Leaving: members that go, or that an operator sends away by their static name.

use super::event::{GroupError, Leaving};
use super::join::refuse;
use super::state::{Group, Phase};
use super::turn::Turn;

impl Group {
    /// Removes members, each with its own answer; one rebalance at most follows.
    pub(super) fn leave(&mut self, turn: &mut Turn<'_>, leaving: Vec<Leaving>) -> Result<Vec<Result<(), GroupError>>, GroupError> {
        if self.phase == Phase::Dead {
            return Err(GroupError::Dead);
        }
        let count_before = self.members.count();
        let answers = leaving.into_iter().map(|one| self.leave_one(turn, one)).collect();
        match self.phase {
            Phase::Stable | Phase::Completing if self.members.count() < count_before => self.prepare(turn),
            Phase::Preparing { .. } => self.complete_join_if_all_here(turn),
            Phase::Stable | Phase::Completing | Phase::Empty | Phase::Dead => (),
        }
        Ok(answers)
    }

    fn leave_one(&mut self, turn: &mut Turn<'_>, leaving: Leaving) -> Result<(), GroupError> {
        let id = match (leaving.member, leaving.instance) {
            (None, None) => return Err(GroupError::UnknownMember),
            (None, Some(instance)) => self.members.of_instance(&instance).cloned().ok_or(GroupError::UnknownMember)?,
            (Some(promised), _) if self.promised.contains_key(&promised) => promised,
            (Some(member), instance) => self.check_member(Some(&member), instance.as_ref())?,
        };
        if let Some(ticket) = self.members.take_join(&id) {
            refuse(turn, ticket, None, GroupError::UnknownMember);
        }
        self.remove_member(turn, &id);
        Ok(())
    }
}
