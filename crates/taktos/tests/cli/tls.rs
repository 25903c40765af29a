//! Control connections on which both ends prove who they are.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};

use crate::openflow::Client;
use crate::site::{Papers, Site};
use crate::testbed::{PATIENCE, Testbed, stop};
use crate::trust::provider;
use crate::workplace::Workplace;

const NAME: &str = "localhost";

/// Writes down what a switch of this site needs, and returns its options.
fn equip(site: &Site, bed: &Testbed) -> Vec<String> {
    let papers = site.certify("switch");
    let files = [
        ("--tls-key", "key.pem", papers.key),
        ("--tls-cert", "cert.pem", papers.certificate),
        ("--tls-ca", "ca.pem", site.authority()),
    ];
    let options = files.into_iter().flat_map(|(option, file, text)| {
        bed.workplace.write(file, text);
        [option.to_owned(), file.to_owned()]
    });
    options.collect()
}

/// Returns how a controller with these papers lets switches of its site in.
fn server(site: &Site, papers: &Papers) -> Arc<ServerConfig> {
    let verifier = WebPkiClientVerifier::builder_with_provider(site.roots(), provider());
    let (chain, key) = papers.read();
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(chain, key);
    Arc::new(config.unwrap())
}

fn start(bed: &Testbed, options: &[String], more: &[&str]) -> crate::workplace::Running {
    let options = options.iter().map(String::as_str);
    let arguments = ["--ports", "s1,s2"].into_iter();
    let arguments: Vec<_> = arguments
        .chain(options)
        .chain(more.iter().copied())
        .collect();
    bed.start(&arguments)
}

fn dial(bed: &Testbed, config: Arc<ClientConfig>) -> StreamOwned<ClientConnection, TcpStream> {
    let stream = bed
        .room
        .run(|| TcpStream::connect("127.0.0.1:6653"))
        .unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let name = ServerName::try_from("switch").unwrap();
    StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream)
}

#[test]
fn only_who_is_certified_is_let_in() {
    let Some(bed) = Testbed::or_skip("only_who_is_certified_is_let_in", 2) else {
        return;
    };
    let (site, stranger) = (Site::new(), Site::new());
    let listen = ["--listen", "tls:127.0.0.1:6653"];
    let running = start(&bed, &equip(&site, &bed), &listen);

    let papers = site.certify("controller");
    let forged = stranger.certify("controller");
    let old = site.certify_for_the_past("controller");
    for unwanted in [None, Some(&forged), Some(&old)] {
        let mut refused = dial(&bed, site.client(unwanted));
        let _ = refused.write(b"\x04");
        assert!(!matches!(refused.read(&mut [0; 8]), Ok(8)), "let in");
    }
    let mut controller = Client::greet(dial(&bed, site.client(Some(&papers))));
    controller.join(1, 2);

    assert_eq!(bed.show("flows")["flows"][0]["actions"][0], "output:2");
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn who_does_not_shake_hands_keeps_nobody_out() {
    let Some(bed) = Testbed::or_skip("who_does_not_shake_hands_keeps_nobody_out", 2) else {
        return;
    };
    let site = Site::new();
    let listen = ["--listen", "tls:127.0.0.1:6653"];
    let running = start(&bed, &equip(&site, &bed), &listen);

    let connect = || TcpStream::connect("127.0.0.1:6653").unwrap();
    let _silent = [(); 3].map(|()| bed.room.run(connect));
    let mut confused = bed.room.run(connect);
    confused.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let papers = site.certify("controller");
    Client::greet(dial(&bed, site.client(Some(&papers)))).pass_barrier();

    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn a_long_answer_comes_whole_whatever_its_reader_does_meanwhile() {
    const ENTRIES: u32 = 5_000;
    let test = "a_long_answer_comes_whole_whatever_its_reader_does_meanwhile";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let site = Site::new();
    let listen = ["--listen", "tls:127.0.0.1:6653"];
    let running = start(&bed, &equip(&site, &bed), &listen);
    let papers = site.certify("controller");
    let mut controller = Client::greet(dial(&bed, site.client(Some(&papers))));

    for number in 1..=ENTRIES {
        controller.ask_to_join(number, 1);
    }
    controller.pass_barrier();
    controller.ask_for_flows();
    // Meanwhile the answer fills every buffer on its way.
    let shown = bed.show("flows");
    let dumped = controller.count_flows();

    assert_eq!(shown["flows"].as_array().unwrap().len(), 5_000);
    assert_eq!(dumped, 5_000);
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn a_controller_is_served_if_its_certificate_bears_its_name() {
    let test = "a_controller_is_served_if_its_certificate_bears_its_name";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let site = Site::new();
    let listener = bed.room.run(|| TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    let controller = format!("tls:127.0.0.1:{port}");
    let options = ["--controller", &controller, "--tls-name", NAME];
    let running = start(&bed, &equip(&site, &bed), &options);

    let serve = |papers: &Papers| {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let connection = ServerConnection::new(server(&site, papers)).unwrap();
        StreamOwned::new(connection, stream)
    };
    let impostor = serve(&site.certify("elsewhere")).read(&mut [0; 8]);
    let mut trusted = Client::greet(serve(&site.certify(NAME)));
    trusted.join(1, 2);

    assert!(impostor.is_err(), "{impostor:?}");
    assert_eq!(bed.show("flows")["flows"][0]["actions"][0], "output:2");
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn addresses_for_switches_that_make_no_sense_are_refused_before_anything_starts() {
    let place = Workplace::new();
    let enciphered = ["--openflow", "ssl:127.0.0.1:0"];
    let key = ["--openflow-tls-key", "key.pem"];
    let file = [
        "--openflow-tls-cert",
        "cert.pem",
        "--openflow-tls-ca",
        "ca.pem",
    ];

    for (options, saying) in [
        (
            &["--openflow", "127.0.0.1:0,tcp:[::1]:0"][..],
            "are both plain",
        ),
        (
            &["--openflow", "controller:6653"],
            "no address of this machine",
        ),
        (&enciphered, "needs --openflow-tls-ca"),
        (&key, "--openflow has none"),
        (&[enciphered, key].concat(), "needs --openflow-tls-ca"),
        (&[&enciphered[..], &file].concat(), "belong together"),
        (
            &[&enciphered[..], &key, &file].concat(),
            "cannot use key.pem",
        ),
    ] {
        let arguments = [&["controller", "--http", "127.0.0.1:0"], options].concat();
        place.run(&arguments).is_refused(saying);
    }
}
