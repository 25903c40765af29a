//! Whom a client believes to be the controller: who has a certificate of an authority
//! that it trusts, or the very certificate that it trusts.
//!
//! The second is what `openssl req -x509` makes: a certificate that certifies itself, and
//! says that it is one of an authority. By RFC 5280 an authority is no server, and rustls
//! keeps to that; but who names this one certificate as trusted means the server that has
//! it. Its time and the name of the server are checked as ever.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    SignatureScheme, StreamOwned,
};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
    TransportAdapter,
};

/// Enciphers connections to a controller that is trusted.
#[derive(Debug)]
pub struct Enciphering {
    /// Nothing, if nobody is trusted: then nothing is enciphered either.
    config: Option<Arc<ClientConfig>>,
}

impl Enciphering {
    /// Trusts whoever has one of these certificates, or has one from who has them.
    pub fn trusting(trusted: &[CertificateDer<'static>]) -> Self {
        Self {
            config: config_trusting(trusted),
        }
    }
}

/// Returns what trusts whoever has one of these certificates, or has one from who has them;
/// nothing if they cannot be used.
pub fn config_trusting(trusted: &[CertificateDer<'static>]) -> Option<Arc<ClientConfig>> {
    Trusted::of(trusted).map(|trusted| Arc::new(config(trusted)))
}

fn config(trusted: Trusted) -> ClientConfig {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("the provider has all versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trusted))
        .with_no_client_auth()
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

impl<In: Transport> Connector<In> for Enciphering {
    type Out = Either<In, Enciphered>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(plain) = chained else {
            return Ok(None);
        };
        if !details.needs_tls() {
            return Ok(Some(Either::A(plain)));
        }
        let host = details.uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned());
        let (Ok(name), Some(config)) = (name, &self.config) else {
            return Err(ureq::Error::Tls(
                "no name of a server, or nobody is trusted",
            ));
        };
        let mut connection = ClientConnection::new(Arc::clone(config), name)?;
        let mut socket = TransportAdapter::new(plain.boxed(), details.current_time.clone());
        socket.set_timeout(details.timeout);
        connection.complete_io(&mut socket)?;
        let (input, output) = (
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(Either::B(Enciphered {
            buffers: LazyBuffers::new(input, output),
            stream: StreamOwned::new(connection, socket),
        })))
    }
}

pub struct Enciphered {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl std::fmt::Debug for Enciphered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Enciphered").finish_non_exhaustive()
    }
}

impl Transport for Enciphered {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        Ok(self.stream.write_all(output)?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let count = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(count);
        Ok(count > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Trusted {
    certificates: Vec<CertificateDer<'static>>,
    authorities: Arc<WebPkiServerVerifier>,
}

impl Trusted {
    fn of(certificates: &[CertificateDer<'static>]) -> Option<Self> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider());
        Some(Self {
            certificates: certificates.to_vec(),
            authorities: authorities.build().ok()?,
        })
    }
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified =
            self.authorities
                .verify_server_cert(shown, intermediates, name, ocsp_response, now);
        match verified {
            // What is looked at before is whether it can be read and when it is valid.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(reason)))
                if is_of_an_authority(&reason) && self.certificates.contains(shown) =>
            {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

/// Tells whether a certificate is refused for nothing but being that of an authority.
fn is_of_an_authority(reason: &rustls::OtherError) -> bool {
    reason.0.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd,
    };
    use rustls::pki_types::UnixTime;

    use super::*;

    /// What `openssl req -x509` makes, valid until the end of a year.
    fn own_certificate(last_year: i32) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec!["controller".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(last_year, 12, 31);
        let key = KeyPair::generate().unwrap();
        let own = CertifiedIssuer::self_signed(params, key).unwrap();
        own.der().clone()
    }

    fn verify(
        trusted: &CertificateDer<'static>,
        shown: &CertificateDer<'_>,
        name: &str,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let trusted = Trusted::of(std::slice::from_ref(trusted)).unwrap();
        // The middle of 2026.
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_782_000_000));
        let name = ServerName::try_from(name.to_owned()).unwrap();
        trusted.verify_server_cert(shown, &[], &name, &[], now)
    }

    #[test]
    fn the_very_certificate_that_is_trusted_is_that_of_the_controller() {
        let own = own_certificate(2030);

        verify(&own, &own, "controller").unwrap();
    }

    #[test]
    fn another_name_or_another_time_or_another_certificate_is_not_trusted() {
        let (own, other, old) = (
            own_certificate(2030),
            own_certificate(2030),
            own_certificate(2025),
        );

        for (trusted, shown, name) in [
            (&own, &own, "elsewhere"),
            (&own, &other, "controller"),
            (&old, &old, "controller"),
        ] {
            let refused = verify(trusted, shown, name);
            assert!(refused.is_err(), "{name}: {refused:?}");
        }
    }
}
