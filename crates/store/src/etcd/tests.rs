//! The store against real members: Debian's version of etcd, or the one that
//! `TAKTOS_ETCD` names.

mod cluster;

use std::sync::mpsc;

use controller::StoreEvent;
use controller::store::{Change, Condition, ExactWriter, Replica, TakeOver, Trouble, contract};
use proptest::prelude::*;
use prost::Message;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::Signal;

use super::messages::{CompactionRequest, WatchEvent, WatchResponse};
use super::*;
use cluster::{Cluster, Extras, Towards};

const SECOND: std::time::Duration = std::time::Duration::from_secs(1);
const TRIALS: usize = 60;

/// How long a member may take to start.
const STARTS_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);

fn terms_of(cluster: &Cluster) -> EtcdTerms {
    EtcdTerms {
        members: cluster.urls(),
        ..EtcdTerms::default()
    }
}

/// Returns a store of these terms, once etcd answers.
fn open(cluster: &Cluster, terms: &EtcdTerms) -> EtcdStore {
    let mut store = EtcdStore::open(terms).unwrap();
    let end = std::time::Instant::now() + STARTS_WITHIN;
    while let Err(error) = store.snapshot() {
        assert!(
            std::time::Instant::now() < end,
            "{error}: {}",
            cluster.log(0)
        );
        std::thread::sleep(SECOND / 50);
    }
    store
}

fn put(flow: u32, value: &[u8]) -> StoreWrite {
    StoreWrite {
        key: Key::Admission(flow),
        value: Some(value.to_vec()),
    }
}

fn values(store: &mut EtcdStore) -> Vec<StoreWrite> {
    let records = store.snapshot().unwrap().records.into_iter();
    let records = records.filter(|it| !matches!(it.key, Key::Epoch(_)));
    records.map(StoreWrite::from).collect()
}

fn commit(store: &mut EtcdStore, writes: &[StoreWrite]) -> Revision {
    match store.write(writes) {
        Outcome::Committed(revision) => revision,
        other => panic!("{other:?}"),
    }
}

/// Writes until it works, and returns the events on the way.
fn settle(writer: &mut ExactWriter<EtcdStore>) -> Vec<StoreEvent> {
    let mut told = Vec::new();
    for _ in 0..TRIALS {
        let (events, trouble) = writer.write(Vec::new());
        told.extend(events);
        if trouble.is_none() {
            return told;
        }
        std::thread::sleep(SECOND / 4);
    }
    panic!("etcd is there, and the writer does not work");
}

#[test]
fn one_member_keeps_the_contract() {
    keeps_the_contract("one_member_keeps_the_contract", 1);
}

#[test]
fn three_members_keep_the_contract() {
    keeps_the_contract("three_members_keep_the_contract", 3);
}

fn keeps_the_contract(test: &str, members: usize) {
    let Some(cluster) = Cluster::start_or_skip(test, members, Extras::default()) else {
        return;
    };
    let (tell, told) = mpsc::channel();
    let mut stores = 0;
    let new = || {
        stores += 1;
        let mut store = open(
            &cluster,
            &EtcdTerms {
                prefix: format!("contract {stores}/").into_bytes(),
                ..terms_of(&cluster)
            },
        );
        let tell = tell.clone();
        store.on_change(move || tell.send(()).unwrap_or_default());
        store
    };

    contract::check(new, || {
        told.recv_timeout(SECOND / 100).unwrap_or_default();
    });
}

#[test]
fn without_one_of_three_members_it_goes_on_and_without_two_it_says_so() {
    let test = "without_one_of_three_members_it_goes_on_and_without_two_it_says_so";
    let Some(mut cluster) = Cluster::start_or_skip(test, 3, Extras::default()) else {
        return;
    };
    let terms = EtcdTerms {
        patience: Duration::from_ms(700),
        ..terms_of(&cluster)
    };
    let mut writer = ExactWriter::new(open(&cluster, &terms), 1);
    writer.start(TakeOver::FromAnybody).unwrap();
    assert_eq!(writer.write(vec![put(1, b"three")]).1, None);

    cluster.kill(0);
    let mut told = writer.write(vec![put(2, b"two")]).0;
    told.extend(settle(&mut writer));
    cluster.kill(1);
    let (events, trouble) = writer.write(vec![put(3, b"one")]);
    assert!(matches!(trouble, Some(Trouble::Store(_))), "{trouble:?}");
    told.extend(events);
    cluster.start(0);
    cluster.start(1);
    told.extend(settle(&mut writer));

    // Each was made or not, and it is known which.
    let mut expected = vec![put(1, b"three")];
    for (flow, write) in [(2, put(2, b"two")), (3, put(3, b"one"))] {
        let of_flow = |it: &&StoreEvent| match it {
            StoreEvent::Written(write) => write.key == Key::Admission(flow),
            StoreEvent::Rejected(key) => *key == Key::Admission(flow),
            StoreEvent::Replayed => false,
        };
        let events: Vec<_> = told.iter().filter(of_flow).collect();
        assert_eq!(events.len(), 1, "{told:?}");
        if *events[0] == StoreEvent::Written(write.clone()) {
            expected.push(write);
        }
    }
    assert_eq!(values(&mut open(&cluster, &terms)), expected);
}

#[test]
fn what_a_stopped_member_did_not_answer_is_known_in_the_end() {
    let test = "what_a_stopped_member_did_not_answer_is_known_in_the_end";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let terms = EtcdTerms {
        patience: Duration::from_ms(300),
        ..terms_of(&cluster)
    };
    let mut plain = open(&cluster, &terms);
    let mut writer = ExactWriter::new(open(&cluster, &terms), 1);
    writer.start(TakeOver::FromAnybody).unwrap();

    cluster.signal(0, Signal::STOP);
    let unanswered = plain.write(&[put(1, b"perhaps")]);
    let (events, trouble) = writer.write(vec![put(2, b"perhaps")]);
    cluster.signal(0, Signal::CONT);
    let told = settle(&mut writer);

    assert!(matches!(unanswered, Outcome::Unknown(_)), "{unanswered:?}");
    assert_eq!(events, [], "nobody knows yet");
    assert!(matches!(trouble, Some(Trouble::Store(_))), "{trouble:?}");
    let is_there = values(&mut plain).contains(&put(2, b"perhaps"));
    let expected = match is_there {
        true => StoreEvent::Written(put(2, b"perhaps")),
        false => StoreEvent::Rejected(Key::Admission(2)),
    };
    assert_eq!(told, [expected]);
}

#[test]
fn a_member_without_space_makes_room_and_is_read_when_there_is_none() {
    let test = "a_member_without_space_makes_room_and_is_read_when_there_is_none";
    let extras = Extras {
        arguments: vec!["--quota-backend-bytes=6000000".to_owned()],
        ..Extras::default()
    };
    let Some(cluster) = Cluster::start_or_skip(test, 1, extras) else {
        return;
    };
    let mut store = open(&cluster, &terms_of(&cluster));
    store.upkeep.room_interval = std::time::Duration::ZERO;
    let large = vec![7; 400_000];

    // Five times the quota, of which only one value is not of the past.
    for round in 0..75 {
        commit(&mut store, &[put(1, &[&[round][..], &large].concat())]);
    }
    let mut kept = 1;
    let full = loop {
        match store.write(&[put(kept + 1, &large)]) {
            Outcome::Committed(_) => kept += 1,
            other => break other,
        }
        // Etcd counts what it has written to the disk, which is some time later.
        assert!(kept < 200, "more is kept than there is space for");
    };

    assert_eq!(full, Outcome::Failed(EtcdStoreError::Full));
    assert_eq!(values(&mut store).len(), kept as usize);
    let gone = (1..kept).map(|flow| StoreWrite {
        key: Key::Admission(flow),
        value: None,
    });
    commit(&mut store, &gone.collect::<Vec<_>>());
    commit(&mut store, &[put(1, &large)]);
    assert_eq!(values(&mut store).len(), 2);
}

#[test]
fn the_past_is_forgotten_and_who_asks_for_it_is_told_so() {
    let test = "the_past_is_forgotten_and_who_asks_for_it_is_told_so";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let mut store = open(&cluster, &terms_of(&cluster));
    store.upkeep.compact_interval = 20;
    store.upkeep.kept = 5;
    let start = store.snapshot().unwrap().revision;

    for round in 0..50 {
        commit(&mut store, &[put(1, &[round])]);
    }
    let lost = (0..TRIALS).any(|_| {
        // A watcher of its own each time, since one that has begun has heard all.
        store.watcher = None;
        let _ = store.changes(start);
        std::thread::sleep(SECOND / 10);
        store.changes(start) == Ok(Changes::Lost)
    });

    assert!(lost, "what was forgotten cannot be told");
    assert_eq!(values(&mut store), [put(1, &[49])]);
}

#[test]
fn a_compaction_under_a_watcher_loses_nothing_that_it_may_still_tell() {
    let test = "a_compaction_under_a_watcher_loses_nothing_that_it_may_still_tell";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let mut store = open(&cluster, &terms_of(&cluster));
    let mut replica = Replica::default();
    replica.audit(store.snapshot().unwrap());
    store.changes(replica.revision()).unwrap();

    for round in 0..20 {
        let revision = commit(&mut store, &[put(1, &[round])]);
        let question = CompactionRequest {
            revision: i64::try_from(revision.0).unwrap(),
            physical: true,
        };
        let path = "/etcdserverpb.KV/Compact";
        let runtime = store.runtime.handle().clone();
        let _: Result<messages::Plain, _> = runtime.block_on(store.client.read(path, question));
    }
    let expected = store.snapshot().unwrap();
    for _ in 0..TRIALS {
        match store.changes(replica.revision()).unwrap() {
            Changes::Known(changes) => drop(replica.follow(changes)),
            Changes::Lost => drop(replica.audit(store.snapshot().unwrap())),
        }
        if replica.revision() == expected.revision {
            break;
        }
        std::thread::sleep(SECOND / 50);
    }

    assert_eq!(replica.snapshot(), expected);
}

#[test]
fn a_restored_member_is_found_out_and_given_back_what_was_promised() {
    let test = "a_restored_member_is_found_out_and_given_back_what_was_promised";
    let Some(mut cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let mut writer = ExactWriter::new(open(&cluster, &terms_of(&cluster)), 1);
    writer.start(TakeOver::FromAnybody).unwrap();
    assert_eq!(writer.write(vec![put(1, b"before")]).1, None);
    cluster.kill(0);
    cluster.copy(0, Towards::Backup);
    cluster.start(0);
    let mut follower = open(&cluster, &terms_of(&cluster));
    settle(&mut writer);
    for flow in 2..5 {
        assert_eq!(writer.write(vec![put(flow, b"after")]).1, None);
    }
    let before = follower.snapshot().unwrap();

    cluster.kill(0);
    cluster.copy(0, Towards::Member);
    cluster.start(0);
    let restored = open(&cluster, &terms_of(&cluster)).snapshot().unwrap();
    let heard = follower.changes(before.revision);
    settle(&mut writer);

    assert!(restored.revision < before.revision, "{restored:?}");
    assert_eq!(heard, Ok(Changes::Lost));
    let expected = [
        put(1, b"before"),
        put(2, b"after"),
        put(3, b"after"),
        put(4, b"after"),
    ];
    assert_eq!(values(&mut follower), expected);
}

#[test]
fn each_lease_ends_by_itself_and_takes_its_record_along() {
    let test = "each_lease_ends_by_itself_and_takes_its_record_along";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let mut store = open(&cluster, &terms_of(&cluster));
    let start = store.snapshot().unwrap().revision;
    store.changes(start).unwrap();
    for flow in [1, 2, 3] {
        let leased = Transaction {
            writes: vec![put(flow, b"")],
            lease: Some(Duration::from_secs(1)),
            ..Transaction::default()
        };
        assert!(matches!(store.transact(&leased), Outcome::Committed(_)));
    }

    let mut told: Vec<Change> = Vec::new();
    for _ in 0..TRIALS {
        assert_eq!(store.renew(Key::Admission(2)), Ok(Lease::Renewed));
        let after = told.last().map_or(start, |it| it.revision);
        if let Ok(Changes::Known(changes)) = store.changes(after) {
            told.extend(changes);
        }
        if told.iter().filter(|it| it.write.value.is_none()).count() == 2 {
            break;
        }
        std::thread::sleep(SECOND / 5);
    }

    assert_eq!(values(&mut store), [put(2, b"")]);
    let gone = told.into_iter().filter(|it| it.write.value.is_none());
    let mut gone: Vec<_> = gone.map(|it| (it.write.key, it.revision)).collect();
    gone.sort_unstable();
    assert_eq!(gone.len(), 2, "{gone:?}");
    assert_ne!(gone[0].1, gone[1].1, "each has a revision of its own");
    assert_eq!(store.renew(Key::Admission(1)), Ok(Lease::Gone));
}

#[test]
fn two_stores_see_each_others_changes_and_one_of_two_wins() {
    let test = "two_stores_see_each_others_changes_and_one_of_two_wins";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let mut first = open(&cluster, &terms_of(&cluster));
    let mut second = open(&cluster, &terms_of(&cluster));
    let start = second.snapshot().unwrap().revision;
    let (tell, told) = mpsc::channel();
    second.on_change(move || tell.send(()).unwrap_or_default());
    second.changes(start).unwrap();
    let once = Transaction {
        conditions: vec![Condition {
            key: Key::Mode,
            revision: None,
        }],
        writes: vec![StoreWrite {
            key: Key::Mode,
            value: Some(b"mine".to_vec()),
        }],
        ..Transaction::default()
    };

    let outcomes = [first.transact(&once), second.transact(&once)];
    told.recv_timeout(30 * SECOND).unwrap();
    let heard = second.changes(start).unwrap();

    assert!(matches!(outcomes[0], Outcome::Committed(_)), "{outcomes:?}");
    let lost = Outcome::Refused(Refusal::Differs(Vec::new()));
    assert_eq!(
        std::mem::discriminant(&outcomes[1]),
        std::mem::discriminant(&lost)
    );
    assert!(matches!(heard, Changes::Known(changes) if changes.len() == 1));
}

/// Words of which two say who gets what: a user a password, a role, a user a role.
#[derive(Clone, PartialEq, Message)]
struct Names {
    #[prost(string, tag = "1")]
    first: String,
    #[prost(string, tag = "2")]
    second: String,
}

/// Lets a role read and write all keys.
#[derive(Clone, PartialEq, Message)]
struct Grant {
    #[prost(string, tag = "1")]
    role: String,
    #[prost(message, optional, tag = "2")]
    permission: Option<Permission>,
}

#[derive(Clone, PartialEq, Message)]
struct Permission {
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(bytes = "vec", tag = "2")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    range_end: Vec<u8>,
}

const READ_AND_WRITE: i32 = 2;

fn administer<Q: Message + Clone + 'static>(
    store: &mut EtcdStore,
    path: &'static str,
    question: Q,
) {
    let runtime = store.runtime.handle().clone();
    let done: Result<messages::Plain, _> = runtime.block_on(store.client.read(path, question));
    done.unwrap();
}

fn names(first: &str, second: &str) -> Names {
    Names {
        first: first.to_owned(),
        second: second.to_owned(),
    }
}

/// Makes users `root` and `taktos` with these passwords, the latter for our keys alone.
fn demand_users(store: &mut EtcdStore) {
    for (user, password, role) in [("root", "secret", "root"), ("taktos", "tick", "keys")] {
        administer(store, "/etcdserverpb.Auth/RoleAdd", names(role, ""));
        administer(store, "/etcdserverpb.Auth/UserAdd", names(user, password));
        administer(store, "/etcdserverpb.Auth/UserGrantRole", names(user, role));
    }
    let (key, range_end) = store.keys.range();
    let grant = Grant {
        role: "keys".to_owned(),
        permission: Some(Permission {
            kind: READ_AND_WRITE,
            key,
            range_end,
        }),
    };
    administer(store, "/etcdserverpb.Auth/RoleGrantPermission", grant);
    administer(
        store,
        "/etcdserverpb.Auth/AuthEnable",
        messages::Plain::default(),
    );
}

/// An authority that certifies members and instances.
struct Site {
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Site {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self {
            authority: CertifiedIssuer::self_signed(params, key).unwrap(),
        }
    }

    /// Returns a certificate and its key, as PEM.
    fn certify(&self, name: &str) -> (Vec<u8>, Vec<u8>) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        (
            certificate.pem().into_bytes(),
            key.serialize_pem().into_bytes(),
        )
    }

    /// Returns what a member is told that shows a certificate and demands one.
    fn member(&self, folder: &std::path::Path) -> Vec<String> {
        let (certificate, key) = self.certify("127.0.0.1");
        let authority = self.authority.pem().into_bytes();
        let files = [
            ("trusted-ca-file", authority),
            ("cert-file", certificate),
            ("key-file", key),
        ];
        let files = files.into_iter().map(|(option, bytes)| {
            let path = folder.join(option);
            std::fs::write(&path, bytes).unwrap();
            format!("--{option}={}", path.display())
        });
        files.chain(["--client-cert-auth".to_owned()]).collect()
    }
}

#[test]
fn by_mutual_tls_and_as_a_user_it_goes_on_when_a_member_forgets_it() {
    let test = "by_mutual_tls_and_as_a_user_it_goes_on_when_a_member_forgets_it";
    let folder = tempfile::tempdir().unwrap();
    let site = Site::new();
    let extras = Extras {
        arguments: site.member(folder.path()),
        scheme: Some("https"),
    };
    let Some(mut cluster) = Cluster::start_or_skip(test, 1, extras) else {
        return;
    };
    let unknown = EtcdTerms {
        authority: Some(site.authority.pem().into_bytes()),
        ..terms_of(&cluster)
    };
    let known = EtcdTerms {
        identity: Some(site.certify("instance")),
        ..unknown.clone()
    };
    let user = EtcdTerms {
        user: Some(("taktos".to_owned(), "tick".to_owned())),
        ..known.clone()
    };

    demand_users(&mut open(&cluster, &known));
    let mut store = open(&cluster, &user);
    commit(&mut store, &[put(1, b"known")]);
    cluster.kill(0);
    cluster.start(0);
    drop(open(&cluster, &user));
    commit(&mut store, &[put(2, b"known again")]);

    assert_eq!(
        values(&mut store),
        [put(1, b"known"), put(2, b"known again")]
    );
    let stranger = EtcdStore::open(&unknown).unwrap().snapshot();
    assert!(stranger.is_err(), "{stranger:?}");
    let nobody = EtcdStore::open(&known).unwrap().write(&[put(3, b"")]);
    assert!(matches!(nobody, Outcome::Failed(_)), "{nobody:?}");
    let elsewhere = EtcdTerms {
        prefix: b"other".to_vec(),
        ..user.clone()
    };
    let elsewhere = EtcdStore::open(&elsewhere).unwrap().write(&[put(3, b"")]);
    assert!(
        matches!(&elsewhere, Outcome::Failed(EtcdStoreError::Declined { reason }) if reason.contains("permission denied")),
        "{elsewhere:?}"
    );
    let wrong = EtcdTerms {
        user: Some(("taktos".to_owned(), "tock".to_owned())),
        ..known
    };
    let wrong = EtcdStore::open(&wrong).unwrap().snapshot();
    assert!(
        matches!(wrong, Err(EtcdStoreError::Stranger { .. })),
        "{wrong:?}"
    );
}

#[test]
fn what_is_no_address_and_where_nobody_is_are_told_apart() {
    let terms = |url: &str| EtcdTerms {
        members: vec![url.to_owned()],
        ..EtcdTerms::default()
    };
    for url in ["127.0.0.1:2379", "https://127.0.0.1:2379", "http://a b"] {
        let error = EtcdStore::open(&terms(url)).unwrap_err();
        assert!(matches!(error, EtcdStoreError::Unusable { .. }), "{error}");
    }
    let error = EtcdStore::open(&EtcdTerms::default()).unwrap_err();
    assert_eq!(error, EtcdStoreError::NoMember);

    // Port 1 of loopback is nobody's.
    let outcome = EtcdStore::open(&terms("http://127.0.0.1:1"))
        .unwrap()
        .write(&[put(1, b"")]);

    let Outcome::Failed(EtcdStoreError::Unreachable { reason, .. }) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(reason.contains("refused"), "{reason}");
}

/// Events of keys below our prefix and elsewhere, sealed or not.
fn events() -> impl Strategy<Value = Vec<WatchEvent>> {
    let event = (
        any::<bool>(),
        0..3_u8,
        any::<[u8; 4]>(),
        any::<Vec<u8>>(),
        any::<i64>(),
    );
    let event = event.prop_map(|(is_put, kind, flow, value, mod_revision)| {
        let name = [&b"a"[..], &flow].concat();
        let (prefix, value) = match kind {
            0 => (&b"taktos/"[..], sealed::close(&name, &value)),
            1 => (&b"taktos/"[..], value),
            _ => (&b"others/"[..], value),
        };
        WatchEvent {
            r#type: i32::from(!is_put),
            kv: Some(KeyValue {
                key: [prefix, &name].concat(),
                mod_revision,
                value,
            }),
        }
    });
    prop::collection::vec(event, 0..5)
}

proptest! {
    #[test]
    fn of_what_a_member_says_only_sealed_records_of_ours_are_taken(events in events(), noise: Vec<u8>) {
        let keys = Keys {
            prefix: Arc::from(&b"taktos/"[..]),
        };
        let response = WatchResponse {
            events: events.clone(),
            ..WatchResponse::default()
        };

        let decoded = WatchResponse::decode(&response.encode_to_vec()[..]).unwrap();
        prop_assert_eq!(&decoded, &response);
        // Whatever else arrives is an error or an answer, and no end.
        let _ = WatchResponse::decode(&noise[..]);
        let _ = TxnResponse::decode(&noise[..]);
        for kv in decoded.events.into_iter().filter_map(|event| event.kv) {
            let record = keys.record(&kv);
            let is_ours = kv.key.starts_with(b"taktos/");
            match record {
                Ok(Some(record)) => {
                    prop_assert!(is_ours);
                    prop_assert_eq!(keys.sealed(record.key, &record.value), kv.value);
                }
                Ok(None) => prop_assert!(!is_ours),
                Err(_) => prop_assert!(is_ours),
            }
        }
    }
}
