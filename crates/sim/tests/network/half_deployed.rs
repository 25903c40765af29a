//! A controller that deploys half of a mode and dies: whole switches do not enter what is
//! not complete, and the next controller completes it (S2-5, S2-11).
//!
//! The switches take a millisecond for each message, so that the controller can die between
//! any two of them. Then the test speaks with the switches itself: it looks which entries
//! they have, and demands the higher level of all of them.

use std::collections::BTreeMap;

use controller::modes::{ModalFlow, Modes, Strategy, Treatment};
use controller::northbound::{Reply, Request};
use scenario::Profile;
use sim::World;
use sim::conversation::Conversation;
use sim::emulation::Behaviour;
use sim::parts::Parts;
use units::{Delay, Duration};
use wire::mode_signal::Level;
use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{
    Answer, LevelSet, ModeCommand, ModeEventKind, ModeMessage, ModeSet, ModeStatus,
    MonitorContract, Question,
};
use wire::openflow::{FeaturesReply, Hello, MatchField, Message, TableId, TransactionId};

use crate::blueprint::Blueprint;
use crate::run::{ask, discover};

const SWITCHES: usize = 4;
/// What a switch takes for a message.
const MESSAGE: Delay = Delay::from_us(1_000);
/// Between two moments at which the controller dies: no message is left out.
const STEP: Duration = Duration::from_us(500);
/// Long after everything is deployed.
const DEPLOYED: Duration = Duration::from_secs(3);
/// Within which switches have answered everything.
const ANSWERED: Duration = Duration::from_ms(300);
const TRANSACTION: TransactionId = TransactionId(0x4D0D_E006);

#[test]
fn a_switch_enters_no_level_that_a_dead_controller_left_half_deployed() {
    let blueprint = blueprint();
    let whole = deployed_for(&blueprint, DEPLOYED).1;
    let (mut halves, mut completed) = (0, 0);
    for moment in (1u64..).map(|step| STEP * step) {
        let (_, left) = deployed_for(&blueprint, moment);

        for (switch, (left, whole)) in left.iter().zip(&whole).enumerate() {
            let place = format!("switch {switch}, {moment} after the flows were asked for");
            assert_eq!(left.agreed, high(), "{place}");
            let is_complete = left.complete.contains(high());
            if is_complete {
                assert_eq!(left.entries, whole.entries, "{place}");
            }
            let served = if is_complete { high() } else { Level::LOWEST };
            assert_eq!(left.served, served, "{place}");
            assert_eq!(left.says_incomplete, !is_complete, "{place}");
            halves += usize::from((1..whole.entries).contains(&left.entries));
        }
        completed += usize::from(left.iter().all(|it| it.complete.contains(high())));
        if completed > 3 {
            break;
        }
    }
    assert!(whole.iter().any(|it| it.entries > 1), "{whole:?}");
    assert!(halves > 3, "the controller never died in the middle");
}

#[test]
fn the_next_controller_completes_what_a_dead_one_left_half_deployed() {
    let blueprint = blueprint();
    let whole = deployed_for(&blueprint, DEPLOYED).1;
    let is_half = |left: &[Left]| {
        let mut pairs = left.iter().zip(&whole);
        pairs.any(|(left, whole)| (1..whole.entries).contains(&left.entries))
    };
    let mut moments = (1u64..).map(|step| deployed_for(&blueprint, STEP * step));
    let (mut world, _) = moments.find(|(_, left)| is_half(left)).unwrap();

    world.start_controller(parts(&blueprint).controller.unwrap());
    world.run_until(world.now() + DEPLOYED);

    let Reply::Mode(Some(report)) = ask(&mut world, Request::Mode) else {
        panic!("the network has modes");
    };
    for switch in &report.switches {
        let holds = switch.holds.as_ref().expect("it has answered");
        let all: Vec<_> = modes().all().map(|level| modes().name(level)).collect();
        assert_eq!(holds.complete, all, "{switch:?}");
        let high = modes().name(high());
        assert_eq!((&holds.level, &holds.served), (&high, &high));
    }
    assert_eq!(report.switches.len(), SWITCHES);
    world.kill_controller();
    let left = Hand::look(&mut world);
    let entries = |all: &[Left]| all.iter().map(|it| it.entries).collect::<Vec<_>>();
    assert_eq!(entries(&left), entries(&whole));
}

/// What a switch is left with.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// Entries that match a level.
    entries: usize,
    complete: LevelSet,
    agreed: Level,
    served: Level,
    says_incomplete: bool,
}

/// Has flows asked for, lets the controller die so long after, and demands the higher level.
fn deployed_for(blueprint: &Blueprint, moment: Duration) -> (World, Vec<Left>) {
    let mut world = World::new(parts(blueprint));
    discover(blueprint, &mut world);
    let wishes = 0..blueprint.wishes.len();
    let requirements = wishes.map(|flow| blueprint.requirement(flow)).collect();
    world.request(Request::Admit(requirements));
    world.run_until(world.now() + moment);

    world.kill_controller();
    let left = Hand::look(&mut world);
    (world, left)
}

/// Who speaks with the switches while there is no controller.
struct Hand {
    conversation: Conversation,
    entries: [usize; SWITCHES],
    held: [Option<(LevelSet, Level, Level)>; SWITCHES],
    says_incomplete: [bool; SWITCHES],
}

impl Hand {
    /// Demands the higher level of all switches, and returns what they say.
    fn look(world: &mut World) -> Vec<Left> {
        let mut hand = Self {
            conversation: Conversation::new(SWITCHES),
            entries: [0; SWITCHES],
            held: [None; SWITCHES],
            says_incomplete: [false; SWITCHES],
        };
        hand.listen(world);
        for switch in 0..SWITCHES {
            let mut out = Vec::new();
            let set = ModeSet {
                command: ModeCommand::Demand,
                level: high(),
            };
            ModeMessage::Set(set).emit(TRANSACTION, &mut out);
            let question = RequestBody::Experimenter(Question::Modes.body());
            MultipartRequest::new(question).emit(TRANSACTION, &mut out);
            world.tell(world.now(), switch, &out);
        }
        hand.listen(world);
        let left = |switch: usize| {
            let (complete, agreed, served) = hand.held[switch].expect("it was asked");
            Left {
                entries: hand.entries[switch],
                complete,
                agreed,
                served,
                says_incomplete: hand.says_incomplete[switch],
            }
        };
        (0..SWITCHES).map(left).collect()
    }

    fn listen(&mut self, world: &mut World) {
        let end = world.now() + ANSWERED;
        while world.now() < end {
            for heard in self.conversation.hear(world, end, |_| greeting()) {
                let (_, message) = Message::parse(&heard.bytes).unwrap();
                self.note(heard.switch, &message);
            }
        }
    }

    fn note(&mut self, switch: usize, message: &Message<'_>) {
        match message {
            Message::Error(error) => panic!("switch {switch}: {error:?}"),
            Message::Mode(ModeMessage::Event(event)) => {
                self.says_incomplete[switch] |= event.kind == ModeEventKind::Incomplete;
            }
            Message::MultipartReply(reply) => match reply.body {
                ReplyBody::Flow(flows) => {
                    let of_level = flows.iter().filter(|flow| {
                        let fields = flow.as_ref().unwrap().matching;
                        let mut fields = fields.iter().flatten();
                        fields.any(|field| matches!(field, MatchField::Level(_)))
                    });
                    self.entries[switch] += of_level.count();
                }
                ReplyBody::Experimenter(body) => {
                    if let Ok(Some(Answer::Modes(status))) = Answer::parse(&body) {
                        let ModeStatus {
                            complete,
                            mode,
                            served,
                            ..
                        } = status;
                        self.held[switch] = Some((complete, mode.level, served));
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
}

fn greeting() -> Vec<u8> {
    let mut out = Vec::new();
    Hello::OURS.emit(TRANSACTION, &mut out);
    FeaturesReply::emit_request(TRANSACTION, &mut out);
    let all = FlowStatisticsRequest::all(TableId::ALL);
    MultipartRequest::new(RequestBody::Flow(all)).emit(TRANSACTION, &mut out);
    out
}

/// A ring of four switches with one flow that is critical, and one that the higher level
/// gives up.
fn blueprint() -> Blueprint {
    let mut blueprint = Blueprint::one_flow();
    let mut other = blueprint.wishes[0].clone();
    other.receivers = vec![1];
    blueprint.wishes.push(other);
    blueprint
}

fn parts(blueprint: &Blueprint) -> Parts {
    let mut parts = blueprint.parts();
    for switch in &mut parts.switches {
        let profile = Profile::built_in("open-vswitch").unwrap();
        let mut behaviour = Behaviour::of(&profile).unwrap();
        let times = &mut behaviour.control;
        for time in [
            &mut times.flow_mod,
            &mut times.barrier,
            &mut times.echo,
            &mut times.packet_out,
        ] {
            time.value = MESSAGE;
        }
        behaviour.flow_setup = None;
        behaviour.loss_ppm = 0;
        switch.emulation = Some(behaviour);
    }
    if let Some(controller) = &mut parts.controller {
        controller.modes = Some(modes());
    }
    parts
}

fn modes() -> Modes {
    let contract = |period_ms| MonitorContract {
        period: Duration::from_ms(period_ms),
        size_bytes: 1_000,
    };
    let serve = Treatment::Serve {
        class: None,
        traffic: None,
        deadline: None,
        contract: Some(contract(20)),
    };
    let critical = ModalFlow {
        criticality: 4,
        jitter: Duration::ZERO,
        contract: Some(contract(100)),
        levels: BTreeMap::from([("hi".to_owned(), serve)]),
    };
    Modes {
        levels: vec!["lo".to_owned(), "hi".to_owned()],
        strategy: Strategy::Taktos,
        // What was demanded stays so.
        hold: None,
        heart_beat: Some(Duration::from_ms(10)),
        default: Level::LOWEST,
        serve: vec![0, 4],
        change_bound: Delay::ZERO,
        flows: BTreeMap::from([
            ("flow-0".to_owned(), critical),
            ("flow-1".to_owned(), ModalFlow::default()),
        ]),
    }
}

fn high() -> Level {
    Level::new(1).unwrap()
}
