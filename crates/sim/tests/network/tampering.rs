//! Somebody changes what a switch has, under the controller's own cookies: the next round
//! finds it, whatever it is.

use controller::northbound::{Event, Saying};
use sim::World;
use sim::world::{Line, LineEvent};
use units::Duration;
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{Answer, CookieClass, Question, TableDigest};
use wire::openflow::{Cookie, FlowMod, FlowModCommand, Hello, Message, TableId, TransactionId};

use crate::blueprint::Blueprint;
use crate::run::{admit, discover};

const X: TransactionId = TransactionId(0x00ff_0001);
const CLASS_MASK: Cookie = Cookie(0xfff << 52);
/// Entries of flows.
const OF_FLOWS: CookieClass = CookieClass(0x542);
const FOREIGN: CookieClass = CookieClass(0x991);
/// Between two rounds, and a little for the answers.
const ROUND: Duration = Duration::from_ms(5_500);

#[test]
fn whatever_somebody_changes_under_our_cookies_is_mended_in_the_next_round() {
    let blueprint = Blueprint::one_flow();
    let mut world = World::new(blueprint.parts());
    discover(&blueprint, &mut world);
    admit(&blueprint, &mut world);
    world.run_until(world.now() + ROUND);
    let mut hand = Hand::at(&mut world, 0);
    let whole = hand.look(&mut world);
    assert!(whole.iter().any(|it| it.class == OF_FLOWS), "{whole:?}");

    let change = FlowMod {
        cookie: OF_FLOWS.lowest(),
        cookie_mask: CLASS_MASK,
        ..FlowMod::add(TableId(0))
    };
    let changes = [
        // Their frames go nowhere.
        FlowMod {
            command: FlowModCommand::Modify,
            ..change
        },
        FlowMod {
            command: FlowModCommand::Delete,
            ..change
        },
        // One more, which is nobody's.
        FlowMod {
            command: FlowModCommand::Add,
            priority: 1,
            ..change
        },
    ];
    for change in changes {
        world.said();
        hand.send(&mut world, &Message::FlowMod(change));
        assert_ne!(hand.look(&mut world), whole, "{change:?}");

        world.run_until(world.now() + ROUND);

        assert_eq!(hand.look(&mut world), whole, "{change:?}");
        assert_eq!(mended(&mut world), 1, "{change:?}");
    }

    let foreign = FlowMod {
        cookie: FOREIGN.lowest(),
        priority: 2,
        ..FlowMod::add(TableId(0))
    };
    hand.send(&mut world, &Message::FlowMod(foreign));
    world.run_until(world.now() + ROUND + ROUND);
    let left = hand.look(&mut world);
    assert!(left.iter().any(|it| it.class == FOREIGN), "{left:?}");
    assert_eq!(
        mended(&mut world),
        0,
        "what is somebody else's is left alone"
    );
}

fn mended(world: &mut World) -> usize {
    let said = world.said();
    let mended = |event: &Saying| matches!(event, Saying::Notice(Event::Mended { .. }));
    said.iter().filter(|said| mended(&said.what)).count()
}

/// Another controller at a switch.
struct Hand(Line);

impl Hand {
    fn at(world: &mut World, switch: usize) -> Self {
        let hand = Self(world.open_line(switch).expect("it runs"));
        let mut greeting = Vec::new();
        Hello::OURS.emit(X, &mut greeting);
        world.speak(hand.0, &greeting);
        hand
    }

    fn send(&self, world: &mut World, message: &Message<'_>) {
        let mut bytes = Vec::new();
        message.emit(X, &mut bytes);
        world.speak(self.0, &bytes);
    }

    /// Returns what the entries of the switch add up to.
    fn look(&mut self, world: &mut World) -> Vec<TableDigest> {
        let question = RequestBody::Experimenter(Question::Digests.body());
        self.send(
            world,
            &Message::MultipartRequest(MultipartRequest::new(question)),
        );
        loop {
            let events = world.run_until_line(world.now() + Duration::from_secs(1));
            assert!(!events.is_empty(), "the switch does not answer");
            for event in events {
                let LineEvent::Said(_, bytes) = event else {
                    panic!("the switch has hung up");
                };
                if let Some(digests) = digests(&bytes) {
                    return digests;
                }
            }
        }
    }
}

fn digests(bytes: &[u8]) -> Option<Vec<TableDigest>> {
    let mut rest = bytes;
    while let Ok((header, message)) = Message::parse(rest) {
        if let Message::MultipartReply(reply) = message
            && let ReplyBody::Experimenter(body) = reply.body
            && let Ok(Some(Answer::Digests(digests))) = Answer::parse(&body)
        {
            return Some(digests.iter().map(Result::unwrap).collect());
        }
        rest = &rest[usize::from(header.length)..];
    }
    None
}
