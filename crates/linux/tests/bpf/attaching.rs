//! A program at an interface: that it sees frames, gives way to another, goes, and
//! does not take a place that somebody else has.

use linux::bpf::attachment::{AttachError, Attachment, Hook, Occupant, Preference};
use linux::hold::Hold;
use linux::netlink::{Netlink, Purpose, Request};

use crate::world::{Action, Cable, Probe, await_some, frame};

const WAYS: [(Preference, &str); 2] = [
    (Preference::Best, "the best way"),
    (Preference::Filter, "a filter"),
];

#[test]
fn an_attached_program_sees_frames_until_it_is_dropped() {
    let test = "an_attached_program_sees_frames_until_it_is_dropped";
    let Some(probe) = Probe::load_or_skip(test) else {
        return;
    };
    for (preference, way) in WAYS {
        let cable = Cable::lay();
        let before = probe.tally(Action::Drop);

        let attachment = attach(&cable, &probe, preference).unwrap();
        println!("{way}: {}", attachment.hook());
        cable.send(&frame(Action::Drop, 1));
        await_some("the frame", || {
            (probe.tally(Action::Drop) == before + 1).then_some(())
        });
        drop(attachment);
        // Frames are handed over the cable in order, and to whatever is attached:
        // the second probe gets its frame after the first would have got one.
        cable.send(&frame(Action::Drop, 2));
        let second = Probe::load_or_skip(test).unwrap();
        let _attachment = attach(&cable, &second, preference).unwrap();
        cable.send(&frame(Action::Drop, 3));
        await_some("the frame", || {
            (second.tally(Action::Drop) == 1).then_some(())
        });

        assert_eq!(probe.tally(Action::Drop), before + 1, "{way}");
    }
}

#[test]
fn a_bounced_frame_comes_back_over_its_cable() {
    let test = "a_bounced_frame_comes_back_over_its_cable";
    let (Some(near), Some(far)) = (Probe::load_or_skip(test), Probe::load_or_skip(test)) else {
        return;
    };
    let cable = Cable::lay();
    let _near = attach(&cable, &near, Preference::Best).unwrap();
    let _far = attach_to(&cable, cable.far, &far, Preference::Best).unwrap();

    // Both probes bounce it until the queue of one loses it, which is never.
    cable.send(&frame(Action::Bounce, 1));

    await_some("the frame", || {
        (far.tally(Action::Bounce) > 1).then_some(())
    });
}

#[test]
fn a_program_takes_the_place_of_another_without_a_gap() {
    let test = "a_program_takes_the_place_of_another_without_a_gap";
    for (preference, way) in WAYS {
        let (Some(first), Some(second)) = (Probe::load_or_skip(test), Probe::load_or_skip(test))
        else {
            return;
        };
        let cable = Cable::lay();
        let mut attachment = attach(&cable, &first, preference).unwrap();

        cable.send(&frame(Action::Drop, 1));
        await_some("the frame", || {
            (first.tally(Action::Drop) == 1).then_some(())
        });
        attachment.replace(&second.program).unwrap();
        cable.send(&frame(Action::Drop, 2));
        await_some("the frame", || {
            (second.tally(Action::Drop) == 1).then_some(())
        });

        assert_eq!(first.tally(Action::Drop), 1, "{way}");
    }
}

#[test]
fn a_program_of_others_is_named_and_left_alone() {
    let Some(probe) = Probe::load_or_skip("a_program_of_others_is_named_and_left_alone") else {
        return;
    };
    let cable = Cable::lay();
    cable.namespace.run(|| filter_of_others(cable.near));

    let error = attach(&cable, &probe, Preference::Best).unwrap_err();

    let AttachError::Occupied { occupant, .. } = error else {
        panic!("{error}");
    };
    let expected = Occupant::Filter {
        kind: "u32".to_owned(),
        name: String::new(),
        preference: 7,
    };
    assert_eq!(occupant, expected);
}

#[test]
fn an_interface_that_goes_takes_its_program_along() {
    const DELETE_LINK: u16 = 17;
    let test = "an_interface_that_goes_takes_its_program_along";
    let Some(probe) = Probe::load_or_skip(test) else {
        return;
    };
    for (preference, way) in WAYS {
        let cable = Cable::lay();
        let mut attachment = attach(&cable, &probe, preference).unwrap();

        let header = [0, cable.near, 0, 0].map(u32::to_ne_bytes).concat();
        let delete = Request::new(DELETE_LINK, Purpose::Change, &header);
        let deleted = cable
            .namespace
            .run(|| Netlink::open().unwrap().ask(delete.clone()));
        deleted.unwrap();

        assert!(attachment.replace(&probe.program).is_err(), "{way}");
        drop(attachment);
        let gone = attach(&cable, &probe, preference).unwrap_err();
        let text = format!("cannot attach the program to interface {}", cable.near);
        assert!(gone.to_string().starts_with(&text), "{gone}");
    }
}

#[test]
fn the_best_place_is_a_link_where_the_kernel_has_links() {
    let Some(probe) = Probe::load_or_skip("the_best_place_is_a_link") else {
        return;
    };
    let cable = Cable::lay();

    let best = attach(&cable, &probe, Preference::Best).unwrap().hook();
    let asked = attach(&cable, &probe, Preference::Filter).unwrap().hook();

    assert!(matches!(best, Hook::Link | Hook::FilterWithoutLinks));
    assert_eq!(asked, Hook::FilterAsAsked);
}

/// Puts a filter at the ingress of the interface of number `interface`, as
/// `tc filter add dev near ingress pref 7 u32 match u32 0 0` would.
fn filter_of_others(interface: u32) {
    const NEW_DISCIPLINE: u16 = 36;
    const NEW_FILTER: u16 = 44;
    const KIND: u16 = 1;
    const OPTIONS: u16 = 2;
    const SELECTOR: u16 = 5;
    let header = |number: u32, parent: u32, info: u32| {
        [0, interface, number, parent, info]
            .map(u32::to_ne_bytes)
            .concat()
    };
    let all_protocols = u32::from(3_u16.to_be());
    let mut netlink = Netlink::open().unwrap();
    let at = header(0xffff_0000, 0xffff_fff1, 0);
    let qdisc = Request::new(NEW_DISCIPLINE, Purpose::Create, &at);
    netlink.ask(qdisc.with(KIND, b"clsact\0")).unwrap();
    let at = header(0, 0xffff_fff2, 7 << 16 | all_protocols);
    let filter = Request::new(NEW_FILTER, Purpose::Create, &at).with(KIND, b"u32\0");
    // `struct tc_u32_sel` without any key: every frame matches.
    let filter = filter.with_nested(OPTIONS, |options| options.append(SELECTOR, &[0; 16]));
    netlink.ask(filter).unwrap();
}

fn attach(cable: &Cable, probe: &Probe, preference: Preference) -> Result<Attachment, AttachError> {
    attach_to(cable, cable.near, probe, preference)
}

fn attach_to(
    cable: &Cable,
    interface: u32,
    probe: &Probe,
    preference: Preference,
) -> Result<Attachment, AttachError> {
    let program = &probe.program;
    let attach = || {
        let hold = Hold::take(interface).unwrap();
        Attachment::attach(program, &hold, preference)
    };
    cable.namespace.run(attach)
}
