//! One network interface of the namespace that the calling thread is in.

mod card_stamps;
mod ethtool;
mod request;
mod stamping;
mod steering;

use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread;

use libc::{c_char, c_ulong};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use units::{BitRate, Duration};
use wire::ethernet::MacAddress;

use crate::clock;
use crate::namespace::Namespace;
use crate::netlink::{Netlink, Purpose, Request, attribute, attributes, word};
use crate::socket::done;

pub use card_stamps::CardStamps;
pub use stamping::{Stamping, Ways};
pub use steering::Steering;

const NAME_BYTES: usize = libc::IFNAMSIZ;
/// The union behind the name in the kernel's `ifreq`.
const ANSWER_BYTES: usize = 24;
/// The flag of an interface that is switched on.
const IS_UP: u16 = 1;
/// The flag of one that hears frames for others.
const HEARS_ALL: u16 = 0x100;
/// The flag of one that the kernel has begun to use.
const IS_RUNNING: u16 = 0x40;
/// How long the kernel may take until it uses an interface that is switched on.
const STARTING: Duration = Duration::from_secs(30);
/// How often it is asked.
const ASKED_EVERY: std::time::Duration = std::time::Duration::from_micros(200);

/// Whether an interface has a peer at the other end of its cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Nobody is there, or the interface is down.
    Lost,
    /// The other end is up.
    Present,
}

/// An interface, by name, with a socket through which to ask about it.
///
/// The socket stays in the namespace in which it was made, so that an interface
/// can be asked from any thread afterwards.
#[derive(Debug)]
pub struct Interface {
    name: [u8; NAME_BYTES],
    index: u32,
    control: OwnedFd,
}

/// What the other requests about an interface take and return, `struct ifreq`.
#[repr(C)]
struct InterfaceRequest {
    name: [c_char; NAME_BYTES],
    answer: [u8; ANSWER_BYTES],
}

/// Whether an interface is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    Off,
    On,
}

/// What a driver or the kernel does to received frames before anybody sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveOffload {
    /// The kernel merges frames of a connection (GRO).
    Merging,
    /// The driver merges frames of a connection (LRO).
    LargeReceive,
    /// The driver takes the VLAN tag out and hands it over beside the frame.
    TagRemoval,
}

impl Interface {
    /// Finds the interface `name` in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none of that name.
    pub fn named(name: &str) -> io::Result<Self> {
        let mut bytes = [0; NAME_BYTES];
        let room = bytes
            .get_mut(..name.len())
            .filter(|room| room.len() < NAME_BYTES);
        room.ok_or(io::ErrorKind::InvalidInput)?
            .copy_from_slice(name.as_bytes());
        let control = socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let index =
            rustix::net::netdevice::name_to_index(&control, name).map_err(|error| match error {
                rustix::io::Errno::NODEV => {
                    io::Error::new(io::ErrorKind::NotFound, format!("no interface `{name}`"))
                }
                other => other.into(),
            })?;
        Ok(Self {
            name: bytes,
            index,
            control,
        })
    }

    /// Finds the interface of a number.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn of_index(index: u32) -> io::Result<Self> {
        let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
        let control = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
        Self::named(&rustix::net::netdevice::index_to_name(&control, index)?)
    }

    /// Returns a second way to ask about the same interface.
    ///
    /// # Errors
    ///
    /// If the process has no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            name: self.name,
            index: self.index,
            control: self.control.try_clone()?,
        })
    }

    /// Returns its number in its namespace.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    #[must_use]
    pub fn name(&self) -> &str {
        let end = self.name.iter().position(|byte| *byte == 0);
        let name = &self.name[..end.expect("a name is shorter than its room")];
        str::from_utf8(name).expect("made of a str")
    }

    /// Returns the namespace that it is in.
    ///
    /// # Errors
    ///
    /// Without CAP_NET_ADMIN there.
    pub fn namespace(&self) -> io::Result<Namespace> {
        /// `linux/sockios.h`
        const NAMESPACE_OF_SOCKET: c_ulong = 0x894c;
        // SAFETY: the request takes no argument and returns a descriptor.
        #[expect(unsafe_code, reason = "ioctl")]
        let fd = unsafe { libc::ioctl(self.control.as_raw_fd(), NAMESPACE_OF_SOCKET as _) };
        done(fd)?;
        // SAFETY: the kernel has just given us this descriptor and nobody else has
        // it.
        #[expect(unsafe_code, reason = "own the new descriptor")]
        Ok(Namespace::of(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Asks for its hardware address.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn mac(&self) -> io::Result<MacAddress> {
        let answer = self.ask(libc::SIOCGIFHWADDR as c_ulong, [0; ANSWER_BYTES])?;
        // The address stands behind its family.
        let (_, address) = answer.split_at(size_of::<u16>());
        Ok(MacAddress(
            *address.first_chunk().expect("22 bytes are left"),
        ))
    }

    /// Asks the driver for the carrier, so that the answer is never late. Events
    /// of the kernel can be late by most of a second.
    ///
    /// Waits while another thread changes the network's configuration: not for a
    /// thread that moves frames.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn carrier(&self) -> io::Result<Carrier> {
        match self.ethtool([ethtool::GET_LINK, 0])? {
            [_, 0] => Ok(Carrier::Lost),
            _ => Ok(Carrier::Present),
        }
    }

    /// Asks whether it is switched on.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn power(&self) -> io::Result<Power> {
        match self.flags()? & IS_UP {
            0 => Ok(Power::Off),
            _ => Ok(Power::On),
        }
    }

    /// Switches it on or off.
    ///
    /// # Errors
    ///
    /// If the interface has gone, or without CAP_NET_ADMIN.
    pub fn switch(&self, power: Power) -> io::Result<()> {
        self.set_flags(match power {
            Power::Off => self.flags()? & !IS_UP,
            Power::On => self.flags()? | IS_UP,
        })
    }

    fn set_flags(&self, flags: u16) -> io::Result<()> {
        let mut value = [0; ANSWER_BYTES];
        value[..2].copy_from_slice(&flags.to_ne_bytes());
        self.ask(libc::SIOCSIFFLAGS as c_ulong, value).map(drop)
    }

    /// Returns whether it hears frames for others for as long as nobody says otherwise.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn hears_all(&self) -> io::Result<bool> {
        Ok(self.flags()? & HEARS_ALL != 0)
    }

    /// Has it hear frames for others, or not.
    ///
    /// # Errors
    ///
    /// If the interface has gone, or without CAP_NET_ADMIN.
    pub fn hear_all(&self, power: Power) -> io::Result<()> {
        self.set_flags(match power {
            Power::Off => self.flags()? & !HEARS_ALL,
            Power::On => self.flags()? | HEARS_ALL,
        })
    }

    /// Waits until the kernel sends what is given to it. An interface may be switched on
    /// and have a carrier, and the kernel still drops frames until a thread of its own has
    /// taken note.
    ///
    /// # Errors
    ///
    /// If that takes more than half a minute, as without a carrier, if the interface has
    /// gone, or without CAP_NET_ADMIN.
    pub fn await_use(&self) -> io::Result<()> {
        let give_up = clock::now() + STARTING;
        // Of a fresh interface it is said that it runs before the kernel has looked: to be
        // asked for the carrier makes it look.
        while matches!(self.carrier(), Ok(Carrier::Lost)) || self.flags()? & IS_RUNNING == 0 {
            if clock::now() > give_up {
                let text = format!("the kernel does not use an interface within {STARTING}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            thread::sleep(ASKED_EVERY);
        }
        // That it runs is said shortly before it does: whoever changes anything waits for
        // the one who changes it.
        self.switch(Power::On)
    }

    /// Asks for the number of the XDP program that sees its frames first, if there is one.
    /// To be called in the namespace of the interface.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn xdp_program(&self) -> io::Result<Option<u32>> {
        const GET_LINK: u16 = 18;
        /// `struct ifinfomsg`
        const HEADER_BYTES: usize = 16;
        const XDP: u16 = 43;
        /// The program, and those of driver, kernel and card where there are several.
        const PROGRAMS: RangeInclusive<u16> = 4..=7;
        let mut header = [0; HEADER_BYTES];
        header[4..8].copy_from_slice(&self.index.to_ne_bytes());
        let mut found = None;
        let request = Request::new(GET_LINK, Purpose::Show, &header);
        Netlink::open()?.ask_for(request, |message| {
            let link = message.body.get(HEADER_BYTES..).unwrap_or_default();
            let xdp = attribute(link, XDP).unwrap_or_default();
            let program = attributes(xdp).find(|it| PROGRAMS.contains(&it.kind));
            found = program.and_then(|it| word(it.value, 0));
        })?;
        Ok(found)
    }

    fn flags(&self) -> io::Result<u16> {
        let [low, high, ..] = self.ask(libc::SIOCGIFFLAGS as c_ulong, [0; ANSWER_BYTES])?;
        Ok(u16::from_ne_bytes([low, high]))
    }

    /// Asks for the largest payload of a frame, in bytes.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn mtu(&self) -> io::Result<u32> {
        let [a, b, c, d, ..] = self.ask(libc::SIOCGIFMTU as c_ulong, [0; ANSWER_BYTES])?;
        Ok(u32::from_ne_bytes([a, b, c, d]))
    }

    /// Asks for the name of its driver.
    #[must_use]
    pub fn driver(&self) -> Option<String> {
        let driver = self.ethtool(ethtool::driver_request()).ok()?;
        Some(ethtool::driver_name(&driver))
    }

    /// Asks for the rate of its link, which only an interface with a cable has.
    #[must_use]
    pub fn link_rate(&self) -> Option<BitRate> {
        let driver = self.ethtool(ethtool::driver_request()).ok()?;
        if !ethtool::is_on_a_bus(&driver) {
            return None;
        }
        ethtool::rate(&self.ethtool(ethtool::settings_request()).ok()?)
    }

    /// Asks who can stamp its frames, or returns nothing if its driver does not say.
    #[must_use]
    pub fn stamping(&self) -> Option<Stamping> {
        let words = self.ethtool(Stamping::request()).ok()?;
        Some(Stamping::of(&words))
    }

    /// Asks what its card stamps.
    ///
    /// # Errors
    ///
    /// If the driver does not say: `Unsupported` then.
    pub fn card_stamps(&self) -> io::Result<CardStamps> {
        let nothing = CardStamps::NOTHING.words();
        let request = libc::SIOCGHWTSTAMP;
        let words = request::ask(&self.control, self.name, request, nothing)?;
        Ok(CardStamps::of(words))
    }

    /// Has its card stamp frames, and returns which ones it stamps now: a driver may take
    /// less than it is asked for.
    ///
    /// # Errors
    ///
    /// If the card cannot do that, or without CAP_NET_ADMIN.
    pub fn let_card_stamp(&self, wanted: CardStamps) -> io::Result<CardStamps> {
        let request = libc::SIOCSHWTSTAMP;
        let words = request::ask(&self.control, self.name, request, wanted.words())?;
        Ok(CardStamps::of(words))
    }

    /// Asks over how many queues it receives.
    #[must_use]
    pub fn receive_queues(&self) -> u32 {
        // Who cannot be asked has one.
        let channels = self.ethtool(ethtool::channels_request());
        channels.map_or(1, |channels| ethtool::receive_queues(&channels))
    }

    /// Tells whether something is done to received frames.
    #[must_use]
    pub fn does(&self, offload: ReceiveOffload) -> bool {
        // Who does not know it does not do it.
        let asked = match offload {
            ReceiveOffload::Merging => self.ethtool([ethtool::GET_GRO, 0]),
            ReceiveOffload::LargeReceive | ReceiveOffload::TagRemoval => {
                self.ethtool([ethtool::GET_FLAGS, 0])
            }
        };
        asked.is_ok_and(|[_, set]| set & ethtool::flag(offload) != 0)
    }

    /// Begins or ends to do something to received frames.
    ///
    /// # Errors
    ///
    /// If the driver refuses.
    pub fn let_do(&self, offload: ReceiveOffload, power: Power) -> io::Result<()> {
        let flag = ethtool::flag(offload);
        let changed = |set: u32| match power {
            Power::Off => set & !flag,
            Power::On => set | flag,
        };
        match offload {
            ReceiveOffload::Merging => self.ethtool([ethtool::SET_GRO, changed(0)]).map(drop),
            ReceiveOffload::LargeReceive | ReceiveOffload::TagRemoval => {
                let [_, set] = self.ethtool([ethtool::GET_FLAGS, 0])?;
                self.ethtool([ethtool::SET_FLAGS, changed(set)]).map(drop)
            }
        }
    }

    /// Switches off everything that would merge, split or leave frames
    /// unfinished, so that each frame on the wire is one frame here.
    ///
    /// # Errors
    ///
    /// If the driver refuses; one that does not know an offload has none.
    pub fn disable_offloads(&self) -> io::Result<()> {
        for command in [
            ethtool::SET_TSO,
            ethtool::SET_GSO,
            ethtool::SET_GRO,
            ethtool::SET_TX_CHECKSUM,
            ethtool::SET_RX_CHECKSUM,
            ethtool::SET_SCATTER_GATHER,
        ] {
            match self.ethtool([command, 0]) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn ask(&self, request: c_ulong, value: [u8; ANSWER_BYTES]) -> io::Result<[u8; ANSWER_BYTES]> {
        let mut question = InterfaceRequest {
            name: self.name.map(u8::cast_signed),
            answer: value,
        };
        // SAFETY: `question` has the layout and size of the kernel's `ifreq`, and
        // lives until the call returns; the requests that are made here read and
        // write nothing else.
        #[expect(unsafe_code, reason = "ioctl")]
        let result =
            unsafe { libc::ioctl(self.control.as_raw_fd(), request as _, &raw mut question) };
        done(result)?;
        Ok(question.answer)
    }

    fn ethtool<const N: usize>(&self, request: [u32; N]) -> io::Result<[u32; N]> {
        request::ask(&self.control, self.name, ethtool::REQUEST, request)
    }
}
