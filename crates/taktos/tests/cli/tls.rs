//! Control connections on which both ends prove who they are.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};

use crate::openflow::Client;
use crate::testbed::{PATIENCE, Testbed, stop};

const NAME: &str = "localhost";

/// An authority and what it certified, as files and as text.
struct Site {
    authority: CertifiedIssuer<'static, KeyPair>,
}

/// A key with its certificate, in PEM.
struct Papers {
    key: String,
    certificate: String,
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

    fn certify(&self, name: &str) -> Papers {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        Papers {
            key: key.serialize_pem(),
            certificate: certificate.pem(),
        }
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        Arc::new(roots)
    }

    /// Writes down what a switch of this site needs, and returns its options.
    fn equip(&self, bed: &Testbed) -> Vec<String> {
        let papers = self.certify("switch");
        let files = [
            ("--tls-key", "key.pem", papers.key),
            ("--tls-cert", "cert.pem", papers.certificate),
            ("--tls-ca", "ca.pem", self.authority.pem()),
        ];
        let options = files.into_iter().flat_map(|(option, file, text)| {
            bed.workplace.write(file, text);
            [option.to_owned(), file.to_owned()]
        });
        options.collect()
    }

    /// Returns how a controller with these papers connects.
    fn client(&self, papers: Option<&Papers>) -> Arc<ClientConfig> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots());
        Arc::new(match papers {
            Some(papers) => {
                let (chain, key) = papers.read();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
            None => builder.with_no_client_auth(),
        })
    }

    /// Returns how a controller with these papers lets switches in.
    fn server(&self, papers: &Papers) -> Arc<ServerConfig> {
        let verifier = WebPkiClientVerifier::builder_with_provider(self.roots(), provider());
        let (chain, key) = papers.read();
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(chain, key);
        Arc::new(config.unwrap())
    }
}

impl Papers {
    fn read(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes());
        (vec![certificate.unwrap()], key.unwrap())
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
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
    let running = start(&bed, &site.equip(&bed), &listen);

    let papers = site.certify("controller");
    let forged = stranger.certify("controller");
    for unwanted in [None, Some(&forged)] {
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
    let running = start(&bed, &site.equip(&bed), &listen);

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
    let running = start(&bed, &site.equip(&bed), &listen);
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
    let running = start(&bed, &site.equip(&bed), &options);

    let serve = |papers: &Papers| {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let connection = ServerConnection::new(site.server(papers)).unwrap();
        StreamOwned::new(connection, stream)
    };
    let impostor = serve(&site.certify("elsewhere")).read(&mut [0; 8]);
    let mut trusted = Client::greet(serve(&site.certify(NAME)));
    trusted.join(1, 2);

    assert!(impostor.is_err(), "{impostor:?}");
    assert_eq!(bed.show("flows")["flows"][0]["actions"][0], "output:2");
    assert_eq!(stop(running).code, Some(0));
}
