//! A stand: one upstream reached in three ways, directly, through the floor and through Highwater.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use serde::Serialize;

use super::gateway::{Profile, write_config};
use super::parts::{Binaries, Endpoint, HostHooks, Hosted, Started, Upstream};
use super::plan::Era;

/// The tools of an upstream that is there to be called.
const FEW_TOOLS: usize = 10;
/// How many servers are known in the start that is measured from pins.
const KNOWN_SERVERS: usize = 7;
/// The name of the server whose tools act, after strangers' text.
pub(super) const WORDS: &str = "words";
/// Over how many upstreams Highwater's listings are spread.
const LISTED_UPSTREAMS: usize = 4;

/// The three ways, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Target {
    Direct,
    Floor,
    Gateway,
}

/// What stands between the load and the upstream.
#[derive(Clone)]
pub(super) struct Middle {
    pub(super) hosted: Rc<Hosted>,
    endpoint: Endpoint,
}

pub(super) struct Stand {
    upstreams: Vec<Rc<Upstream>>,
    direct: Endpoint,
    pub(super) floor: Middle,
    pub(super) gateway: Middle,
}

/// The stands for calls.
pub(super) struct Stands {
    pub(super) legacy: Stand,
    pub(super) modern: Stand,
    /// Where calls need the user's words.
    pub(super) words: Stand,
}

/// Sets up stands: which programs, where their files go, how Highwater is configured.
pub(super) struct Builder<'a> {
    pub(super) binaries: &'a Binaries,
    pub(super) work: &'a Path,
    pub(super) profile: Profile,
}

// === impl Target ===

impl Target {
    pub(super) const ALL: [Self; 3] = [Self::Direct, Self::Floor, Self::Gateway];
}

// === impl Stand ===

impl Stand {
    pub(super) fn endpoint(&self, target: Target) -> &Endpoint {
        match target {
            Target::Direct => &self.direct,
            Target::Floor => &self.floor.endpoint,
            Target::Gateway => &self.gateway.endpoint,
        }
    }

    /// The process whose cost is measured.
    pub(super) fn middle_pid(&self, target: Target) -> Option<u32> {
        match target {
            Target::Direct => None,
            Target::Floor => Some(self.floor.hosted.started.pid),
            Target::Gateway => Some(self.gateway.hosted.started.pid),
        }
    }

    /// Every other process of the stand, so that what it uses is not taken for somebody else's.
    pub(super) fn other_pids(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = self.upstreams.iter().map(|upstream| upstream.pid()).collect();
        pids.extend([self.floor.hosted.host_pid(), self.gateway.hosted.host_pid()]);
        pids
    }
}

// === impl Builder ===

impl Builder<'_> {
    /// Stands for calls. Highwater is one process with both upstreams behind it, and another with one of them, under labels
    /// by which its tools act and bring in what strangers write.
    pub(super) fn for_calls(&self) -> anyhow::Result<Stands> {
        let legacy = Rc::new(self.binaries.start_upstream(FEW_TOOLS, Some(Era::Legacy))?);
        let modern = Rc::new(self.binaries.start_upstream(FEW_TOOLS, Some(Era::Modern))?);
        let (for_legacy, for_modern, for_words) = match &self.binaries.gateway {
            Some(program) => {
                let servers =
                    [("bench".to_owned(), legacy.url.clone()), ("modern".to_owned(), modern.url.clone())];
                let hosted = Rc::new(self.start_gateway(program, "calls", &servers, 2 * FEW_TOOLS)?);
                // A process of its own: what it keeps of conversations is not the memory of the others.
                let said = [(WORDS.to_owned(), legacy.url.clone())];
                let said = self.start_gateway(program, WORDS, &said, FEW_TOOLS)?;
                let mut words = Middle::new(Rc::new(said), &format!("{WORDS}__"));
                words.endpoint.hooks = Some(self.host(program, &self.data(WORDS))?);
                (Middle::new(Rc::clone(&hosted), "bench__"), Middle::new(hosted, "modern__"), words)
            }
            None => {
                let for_legacy = self.start_floor("stand-in-legacy", &legacy.url, FEW_TOOLS, Era::Legacy)?;
                let for_modern = self.start_floor("stand-in-modern", &modern.url, FEW_TOOLS, Era::Modern)?;
                (for_legacy.clone(), for_modern, for_legacy)
            }
        };
        let floor = self.start_floor("floor-legacy", &legacy.url, FEW_TOOLS, Era::Legacy)?;
        let stand = |gateway| Stand {
            direct: plain(&legacy.url),
            floor: floor.clone(),
            gateway,
            upstreams: vec![Rc::clone(&legacy)],
        };
        Ok(Stands {
            legacy: stand(for_legacy),
            words: stand(for_words),
            modern: Stand {
                direct: plain(&modern.url),
                floor: self.start_floor("floor-modern", &modern.url, FEW_TOOLS, Era::Modern)?,
                gateway: for_modern,
                upstreams: vec![modern],
            },
        })
    }

    /// A stand for listings: all tools in one upstream behind the floor, in four behind Highwater.
    pub(super) fn for_listing(&self, tools: usize) -> anyhow::Result<Stand> {
        let whole = Rc::new(self.binaries.start_upstream(tools, Some(Era::Legacy))?);
        let mut upstreams = vec![Rc::clone(&whole)];
        let gateway = match &self.binaries.gateway {
            Some(program) => {
                let mut servers = Vec::new();
                for index in 1..=LISTED_UPSTREAMS {
                    let part = self.binaries.start_upstream(tools / LISTED_UPSTREAMS, Some(Era::Legacy))?;
                    servers.push((format!("part{index}"), part.url.clone()));
                    upstreams.push(Rc::new(part));
                }
                let hosted = self.start_gateway(program, &format!("list-{tools}"), &servers, tools)?;
                Middle::new(Rc::new(hosted), "")
            }
            None => self.start_floor(&format!("stand-in-list-{tools}"), &whole.url, tools, Era::Legacy)?,
        };
        let floor = self.start_floor(&format!("floor-list-{tools}"), &whole.url, tools, Era::Legacy)?;
        Ok(Stand { upstreams, direct: plain(&whole.url), floor, gateway })
    }

    /// How long Highwater takes to answer, on a new data directory and again on the same one.
    pub(super) fn start_twice(&self, round: usize) -> anyhow::Result<[Started; 2]> {
        let upstream = self.binaries.start_upstream(FEW_TOOLS, Some(Era::Legacy))?;
        let name = format!("start-{round}");
        let start = || match &self.binaries.gateway {
            Some(program) => {
                let servers = [("bench".to_owned(), upstream.url.clone())];
                // Dropped at once: the data directory belongs to one gateway at a time.
                self.start_gateway(program, &name, &servers, FEW_TOOLS).map(|hosted| hosted.started.clone())
            }
            None => {
                let floor = self.start_floor(&name, &upstream.url, FEW_TOOLS, Era::Legacy)?;
                Ok(floor.hosted.started.clone())
            }
        };
        Ok([start()?, start()?])
    }

    /// How long Highwater takes to list the tools of seven servers that it knows and of which none answers: they are away by
    /// the second start. Nothing where something else stands in for it.
    pub(super) fn start_from_pins(&self, round: usize) -> anyhow::Result<Option<Started>> {
        let Some(program) = &self.binaries.gateway else { return Ok(None) };
        let upstream = self.binaries.start_upstream(FEW_TOOLS, Some(Era::Legacy))?;
        let servers: Vec<_> =
            (1..=KNOWN_SERVERS).map(|number| (format!("bench{number}"), upstream.url.clone())).collect();
        let (name, tools) = (format!("start-pins-{round}"), KNOWN_SERVERS * FEW_TOOLS);
        drop(self.start_gateway(program, &name, &servers, tools)?);
        drop(upstream);
        let again = self.start_gateway(program, &name, &servers, tools)?;
        Ok(Some(again.started.clone()))
    }

    /// How long the floor takes, for comparison.
    pub(super) fn start_floor_once(&self) -> anyhow::Result<Started> {
        let upstream = self.binaries.start_upstream(FEW_TOOLS, Some(Era::Legacy))?;
        let floor = self.start_floor("start-floor", &upstream.url, FEW_TOOLS, Era::Legacy)?;
        Ok(floor.hosted.started.clone())
    }

    fn start_floor(&self, name: &str, to: &str, tools: usize, era: Era) -> anyhow::Result<Middle> {
        let hosted = self.binaries.start_floor(to, tools, era, &self.log(name))?;
        Ok(Middle::new(Rc::new(hosted), ""))
    }

    fn start_gateway(
        &self,
        program: &Path,
        name: &str,
        servers: &[(String, String)],
        tools: usize,
    ) -> anyhow::Result<Hosted> {
        // Highwater makes it, open to nobody else.
        let data = self.data(name);
        let config = self.work.join(format!("{name}.yaml"));
        write_config(&config, servers, self.profile)?;
        self.binaries.start_gateway(program, &config, &data, tools, &self.log(name), !self.profile.auth_none)
    }

    fn data(&self, name: &str) -> PathBuf {
        self.work.join(format!("data-{name}"))
    }

    /// A host whose hooks tell the gateway with this data directory. It is the load generator under the host's name: a
    /// prompt counts only where a host has run the hook.
    fn host(&self, program: &Path, data: &Path) -> anyhow::Result<HostHooks> {
        let (load, transcripts) = (self.work.join("claude"), self.work.join("transcripts"));
        std::fs::copy(&self.binaries.load, &load).context("the host cannot be copied")?;
        std::fs::create_dir_all(&transcripts).context("the folder of transcripts cannot be made")?;
        Ok(HostHooks { load, program: program.to_owned(), data: data.to_owned(), transcripts })
    }

    fn log(&self, name: &str) -> PathBuf {
        self.work.join(format!("{name}.log"))
    }
}

// === impl Middle ===

impl Middle {
    fn new(hosted: Rc<Hosted>, prefix: &str) -> Self {
        let Started { url, token, .. } = &hosted.started;
        let endpoint =
            Endpoint { url: url.clone(), token: token.clone(), prefix: prefix.to_owned(), hooks: None };
        Self { hosted, endpoint }
    }
}

fn plain(url: &str) -> Endpoint {
    Endpoint { url: url.to_owned(), token: None, prefix: String::new(), hooks: None }
}
