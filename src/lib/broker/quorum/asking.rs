//! Asking the controller, from whichever node: decided here while this node is it, sent there while another is, and asked again over a change
//! of controllers. Also the translation to and from the messages between nodes. Must never decide anything itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::client::peer::Lane;
use crate::controller::{BrokerLife, Command, Ineligibility, IsrAnswer, IsrChange, NewTopic, Refusal, Registration, Reply};
use crate::types::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionIndex, ProducerId};
use crate::wire::api::k30001_control::{
    Address, AlterPartitions, ControlRequest, ControlResponse, CreateOnDemand, DONE, Heartbeat, IsrMember, LATER, NOT_CONTROLLER,
    PartitionAnswer, PartitionChange, Register, STALE,
};
use crate::wire::error::ErrorCode;

use super::super::node::Node;
use super::super::to_wire;
use super::controller::{Ask, Beat, BeatAnswer, Done};

/// How long a node goes on asking over changes of the controller.
const ASK_MAX: Duration = Duration::from_secs(30);
/// How long it waits for one answer: the controller may be paused, and another may lead by then.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How long it rests before it asks again.
const AGAIN: Duration = Duration::from_millis(25);

/// Why a command was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// This node is not the controller, and the controller cannot be reached.
    #[error("this node is not the controller, or there is none now")]
    NotController,
    /// This node was the controller and ceased to be it meanwhile: the command may still be carried out, or not.
    #[error("the controller changed while the request was on its way; it may have been carried out")]
    Lost,
    /// There was no answer in time.
    #[error("the controller did not answer in time")]
    TimedOut,
    /// Too much waits for the controller.
    #[error("the controller has too much to do")]
    Busy,
    /// The node is stopping.
    #[error("the node is stopping")]
    Stopping,
}

impl Node {
    /// Asks the controller of the cluster something. Once this returns, it is committed and this node shows it. What a broker asks on its own
    /// behalf (registration, ISR changes, producer ids) goes to the controller wherever that is and is asked again until half a minute is
    /// over, which does no harm if it was carried out already. What clients ask is decided here or not at all: their requests are
    /// forwarded whole.
    pub async fn control(self: &Arc<Self>, command: Command) -> Result<Reply, ControlError> {
        let deadline = Instant::now() + ASK_MAX;
        match to_request(&command) {
            None => {
                let done = self.decide_here(command).await?;
                self.see(done, deadline).await
            }
            Some(request) => self.ask(&command, &request, deadline).await,
        }
    }

    /// Makes topics with the controller's defaults where they are not there yet; the broker's own topics get their own settings.
    pub async fn create_on_demand(self: &Arc<Self>, names: &[&str]) -> Result<Reply, ControlError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let request = ControlRequest { create: Some(CreateOnDemand { names: names.clone() }), ..ControlRequest::default() };
        self.ask(&on_demand(self, &names), &request, Instant::now() + ASK_MAX).await
    }

    /// Reports to the controller. Tried once: the next report is soon.
    pub async fn beat(self: &Arc<Self>, beat: Beat) -> Result<BeatAnswer, ControlError> {
        let role = self.quorum.roles.role();
        match role.leader {
            _ if role.i_lead => self.beat_here(beat).await,
            Some(leader) if leader != self.id() => {
                let request = ControlRequest { heartbeat: Some(beat_to_wire(&beat)), ..ControlRequest::default() };
                let response = self.call_controller(leader, Lane::Beat, &request).await?;
                match response.outcome {
                    DONE => Ok(BeatAnswer::Known { fenced: response.fenced, index: index_of(&response) }),
                    STALE => Ok(BeatAnswer::Stale),
                    _ => Err(ControlError::NotController),
                }
            }
            Some(_) | None => Err(ControlError::NotController),
        }
    }

    async fn ask(self: &Arc<Self>, command: &Command, request: &ControlRequest, deadline: Instant) -> Result<Reply, ControlError> {
        loop {
            let role = self.quorum.roles.role();
            let attempt = async {
                match role.leader {
                    _ if role.i_lead => self.decide_here(command.clone()).await,
                    Some(leader) if leader != self.id() => self.ask_there(leader, command, request).await,
                    Some(_) => Err(ControlError::NotController),
                    None => self.ask_anybody(command, request).await,
                }
            };
            let tried = tokio::select! {
                tried = attempt => tried,
                // The one that was asked may be paused or cut off.
                _ = self.quorum.roles.changed_from(role) => Err(ControlError::Lost),
            };
            let error = match tried {
                Ok(done) => return self.see(done, deadline).await,
                Err(error) => error,
            };
            if deadline <= Instant::now() {
                return Err(error);
            }
            tokio::select! {
                _ = self.quorum.roles.changed_from(role) => (),
                () = tokio::time::sleep(AGAIN) => (),
            }
        }
    }

    /// A node that is no member of the quorum yet hears of no leader: those that it knows tell it, or one of them is it.
    async fn ask_anybody(&self, command: &Command, request: &ControlRequest) -> Result<Done, ControlError> {
        let members = self.quorum.roles.members();
        if members.voters.contains(&self.id()) || members.learners.contains(&self.id()) {
            return Err(ControlError::NotController);
        }
        for peer in self.peers.ids() {
            if let Ok(done) = self.ask_there(peer, command, request).await {
                return Ok(done);
            }
        }
        Err(ControlError::NotController)
    }

    async fn ask_there(&self, leader: BrokerId, command: &Command, request: &ControlRequest) -> Result<Done, ControlError> {
        let lane = if request.register.is_some() { Lane::Beat } else { Lane::Control };
        let response = self.call_controller(leader, lane, request).await?;
        match response.outcome {
            DONE => {
                let index = index_of(&response);
                // The partitions of the answer are those of the image, which has to be there first.
                self.metadata.wait_for(index, Instant::now() + ANSWER_MAX).await;
                let reply = self.reply_of(command, &response).ok_or(ControlError::NotController)?;
                Ok(Done { reply, index })
            }
            LATER if request.register.is_some() => {
                let reply = Reply::Registered(Err(Refusal::DuplicateRegistration { id: self.id() }));
                Ok(Done { reply, index: index_of(&response) })
            }
            LATER => Err(ControlError::Busy),
            _ => Err(ControlError::NotController),
        }
    }

    async fn call_controller(&self, leader: BrokerId, lane: Lane, request: &ControlRequest) -> Result<ControlResponse, ControlError> {
        let answer = tokio::time::timeout(ANSWER_MAX, self.peers.call(leader, lane, 0, request)).await;
        answer.map_err(|_| ControlError::TimedOut)?.map_err(|_| ControlError::NotController)
    }

    /// Lets this node's controller decide, if it is the controller.
    pub(crate) async fn decide_here(&self, command: Command) -> Result<Done, ControlError> {
        let (reply, answer) = oneshot::channel();
        self.hand_in(Ask::Command { command, reply })?;
        answer.await.map_err(|_| ControlError::Stopping)?
    }

    async fn beat_here(&self, beat: Beat) -> Result<BeatAnswer, ControlError> {
        let (reply, answer) = oneshot::channel();
        self.hand_in(Ask::Beat { beat, reply })?;
        answer.await.map_err(|_| ControlError::Stopping)?
    }

    fn hand_in(&self, ask: Ask) -> Result<(), ControlError> {
        self.quorum.controller.try_send(ask).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => ControlError::Busy,
            mpsc::error::TrySendError::Closed(_) => ControlError::Stopping,
        })
    }

    /// Waits until this node shows what was done.
    async fn see(&self, done: Done, deadline: Instant) -> Result<Reply, ControlError> {
        match self.metadata.wait_for(done.index, deadline).await {
            true => Ok(done.reply),
            false => Err(ControlError::TimedOut),
        }
    }

    /// The controller's answer to what this node asked of another.
    fn reply_of(&self, command: &Command, response: &ControlResponse) -> Option<Reply> {
        if let Command::RegisterBroker(_) = command {
            return Some(Reply::Registered(Ok(BrokerEpoch::new(response.epoch)?)));
        }
        if let Command::AllocateProducerIds = command {
            return Some(Reply::ProducerIds { first: ProducerId::new(response.producer_id)? });
        }
        if let Command::CreateTopics { .. } = command {
            // Who makes topics on demand looks at the image for what came of it.
            return Some(Reply::Created(Vec::new()));
        }
        let Command::AlterPartitions { from, changes } = command else { return None };
        let answers = response.altered.iter().filter_map(|answer| self.isr_answer(from.broker, changes, answer));
        Some(Reply::IsrAnswered(match ErrorCode::from(response.error_code) {
            ErrorCode::None => Ok(answers.collect()),
            _ => Err(Refusal::NotRegistered { id: from.broker }),
        }))
    }

    /// What the code of another node's controller means here; the numbers in it are as this node knows them.
    fn isr_answer(&self, from: BrokerId, changes: &[IsrChange], answer: &PartitionAnswer) -> Option<IsrAnswer> {
        let index = PartitionIndex::new(answer.index)?;
        let change = changes.iter().find(|change| change.topic == answer.topic && change.index == index)?;
        let image = self.image();
        let now = image.topic_by_id(answer.topic).and_then(|topic| topic.partition(index));
        let unknown = Refusal::UnknownTopicId { id: answer.topic };
        let outcome = match (ErrorCode::from(answer.error_code), now) {
            (ErrorCode::None, Some(now)) => Ok(now.clone()),
            (ErrorCode::None | ErrorCode::UnknownTopicOrPartition | ErrorCode::UnknownTopicId, _) => Err(unknown),
            (ErrorCode::FencedLeaderEpoch, Some(now)) => {
                Err(Refusal::FencedLeaderEpoch { given: change.leader_epoch, now: now.leader_epoch })
            }
            (ErrorCode::InvalidUpdateVersion, Some(now)) => {
                Err(Refusal::OldPartitionEpoch { given: change.partition_epoch, now: now.partition_epoch })
            }
            (ErrorCode::InvalidRequest, _) => Err(Refusal::NotTheLeader { from }),
            (ErrorCode::IneligibleReplica, _) => Err(Refusal::Ineligible { id: from, why: Ineligibility::OldEpoch }),
            // Whatever else it is, it may be asked again.
            (_, _) => Err(Refusal::NewerThanController),
        };
        Some(IsrAnswer { topic: answer.topic, index, outcome })
    }
}

fn index_of(response: &ControlResponse) -> u64 {
    u64::try_from(response.index).unwrap_or(0)
}

fn on_demand(node: &Node, names: &[String]) -> Command {
    let config = node.settings();
    let topics = names.iter().map(|name| NewTopic::on_demand(name, &config)).collect();
    Command::CreateTopics { topics, validate_only: false }
}

/// What a broker asks on its own behalf, as a message; nothing for what clients ask.
fn to_request(command: &Command) -> Option<ControlRequest> {
    let empty = ControlRequest::default();
    match command {
        Command::RegisterBroker(registration) => Some(ControlRequest { register: Some(register_to_wire(registration)), ..empty }),
        Command::AllocateProducerIds => Some(ControlRequest { producer_ids: true, ..empty }),
        Command::AlterPartitions { from, changes } => {
            let changes = changes.iter().map(change_to_wire).collect();
            let alter = AlterPartitions { from: from.broker.get(), epoch: from.epoch.get(), changes };
            Some(ControlRequest { alter: Some(alter), ..empty })
        }
        Command::UnfenceBroker(_)
        | Command::FenceBroker(_)
        | Command::BeginShutdown(_)
        | Command::UnregisterBroker { .. }
        | Command::Reassign { .. }
        | Command::BalanceLeaders
        | Command::Drain { .. }
        | Command::CreateTopics { .. }
        | Command::DeleteTopics(_)
        | Command::CreatePartitions { .. }
        | Command::AlterConfigs { .. }
        | Command::ElectLeaders { .. } => None,
    }
}

fn address_to_wire(address: &(String, u16)) -> Address {
    Address { host: address.0.clone(), port: address.1 }
}

fn register_to_wire(registration: &Registration) -> Register {
    Register {
        broker: registration.broker.get(),
        incarnation: registration.incarnation,
        clean_epoch: registration.clean_epoch.map_or(-1, BrokerEpoch::get),
        advertised: registration.advertised.as_ref().map(address_to_wire),
        internal: registration.internal.as_ref().map(address_to_wire),
        rack: registration.rack.clone(),
    }
}

fn change_to_wire(change: &IsrChange) -> PartitionChange {
    PartitionChange {
        topic: change.topic,
        index: change.index.get(),
        leader_epoch: change.leader_epoch.get(),
        partition_epoch: change.partition_epoch,
        isr: change.isr.iter().map(|member| IsrMember { broker: member.broker.get(), epoch: member.epoch.get() }).collect(),
    }
}

fn beat_to_wire(beat: &Beat) -> Heartbeat {
    Heartbeat {
        broker: beat.life.broker.get(),
        epoch: beat.life.epoch.get(),
        applied: i64::try_from(beat.applied).unwrap_or(i64::MAX),
        ready: beat.ready,
        leaving: beat.leaving,
    }
}

fn life_of(broker: i32, epoch: i64) -> Option<BrokerLife> {
    Some(BrokerLife { broker: BrokerId::new(broker)?, epoch: BrokerEpoch::new(epoch)? })
}

fn registration_of(register: Register) -> Option<Registration> {
    let address = |address: Option<Address>| address.map(|address| (address.host, address.port));
    Some(Registration {
        broker: BrokerId::new(register.broker)?,
        incarnation: register.incarnation,
        clean_epoch: BrokerEpoch::new(register.clean_epoch),
        advertised: address(register.advertised),
        internal: address(register.internal),
        rack: register.rack,
    })
}

fn change_of(change: &PartitionChange) -> Option<IsrChange> {
    Some(IsrChange {
        topic: change.topic,
        index: PartitionIndex::new(change.index)?,
        leader_epoch: LeaderEpoch::new(change.leader_epoch)?,
        partition_epoch: change.partition_epoch,
        isr: change.isr.iter().map(|member| life_of(member.broker, member.epoch)).collect::<Option<_>>()?,
    })
}

/// Another node's wish, as it is put to this node's controller.
enum Wish {
    Command(Command),
    Beat(Beat),
}

/// What `peer` asks; nothing where it speaks in another's name, or says nothing that makes sense.
fn wish(node: &Node, peer: BrokerId, request: ControlRequest) -> Option<Wish> {
    let own = |id: i32| (id == peer.get()).then_some(());
    if let Some(register) = request.register {
        own(register.broker)?;
        return Some(Wish::Command(Command::RegisterBroker(registration_of(register)?)));
    }
    if let Some(beat) = request.heartbeat {
        own(beat.broker)?;
        let applied = u64::try_from(beat.applied).ok()?;
        let life = life_of(beat.broker, beat.epoch)?;
        return Some(Wish::Beat(Beat { life, applied, ready: beat.ready, leaving: beat.leaving }));
    }
    if let Some(alter) = request.alter {
        own(alter.from)?;
        let changes = alter.changes.iter().map(change_of).collect::<Option<_>>()?;
        return Some(Wish::Command(Command::AlterPartitions { from: life_of(alter.from, alter.epoch)?, changes }));
    }
    if let Some(create) = request.create {
        return Some(Wish::Command(on_demand(node, &create.names)));
    }
    request.producer_ids.then_some(Wish::Command(Command::AllocateProducerIds))
}

/// Answers another node; nothing where what it sent is not to be answered.
pub async fn answer_control(node: &Arc<Node>, peer: BrokerId, request: ControlRequest) -> Option<ControlResponse> {
    let answered = match wish(node, peer, request)? {
        Wish::Beat(beat) => node.beat_here(beat).await.map(|answer| match answer {
            BeatAnswer::Known { fenced, index } => ControlResponse { fenced, ..done(index) },
            BeatAnswer::Stale => ControlResponse { outcome: STALE, ..ControlResponse::default() },
        }),
        Wish::Command(command) => node.decide_here(command).await.map(control_reply),
    };
    let leader = node.controller().map_or(-1, BrokerId::get);
    Some(answered.unwrap_or_else(|error| {
        let outcome = match error {
            ControlError::NotController | ControlError::Lost | ControlError::Stopping => NOT_CONTROLLER,
            ControlError::Busy | ControlError::TimedOut => LATER,
        };
        ControlResponse { outcome, leader, ..ControlResponse::default() }
    }))
}

fn done(index: u64) -> ControlResponse {
    ControlResponse { outcome: DONE, index: i64::try_from(index).unwrap_or(i64::MAX), ..ControlResponse::default() }
}

fn control_reply(Done { reply, index }: Done) -> ControlResponse {
    let done = done(index);
    match reply {
        Reply::Registered(Ok(epoch)) => ControlResponse { epoch: epoch.get(), ..done },
        Reply::Registered(Err(_)) => ControlResponse { outcome: LATER, ..done },
        Reply::ProducerIds { first } => ControlResponse { producer_id: first.get(), ..done },
        Reply::IsrAnswered(Err(refusal)) => ControlResponse { error_code: to_wire::refusal(&refusal).code(), ..done },
        Reply::IsrAnswered(Ok(answers)) => ControlResponse { altered: answers.iter().map(answer_to_wire).collect(), ..done },
        Reply::Broker(_)
        | Reply::Reassigned(_)
        | Reply::Balanced { .. }
        | Reply::Drained(_)
        | Reply::Created(_)
        | Reply::Deleted(_)
        | Reply::Grown(_)
        | Reply::Altered(_)
        | Reply::Elected(_) => done,
    }
}

fn answer_to_wire(answer: &IsrAnswer) -> PartitionAnswer {
    let error_code = answer.outcome.as_ref().err().map_or(0, |refusal| to_wire::refusal(refusal).code());
    PartitionAnswer { topic: answer.topic, index: answer.index.get(), error_code }
}
