// Where the agent keeps what it knows. What must outlive the boot is below /var/lib; the rest is below /run.

export const stateFolder = '/var/lib/imago';
/** The config in force, without its secrets: the last that was applied and verified. */
export const goodConfigPath = `${stateFolder}/config.json`;
/** A config that failed on this machine: not tried again until another one came. */
export const failedConfigPath = `${stateFolder}/failed.json`;
/** Which paths belong to the config, and what stood there before. */
export const managedPath = `${stateFolder}/managed.json`;
export const identityPath = `${stateFolder}/identity.json`;
/** That the cloud was told how the first boot ended. */
export const platformReportPath = `${stateFolder}/platform-report.json`;
/** How often machines ended while they applied the config that is being applied. */
export const attemptsPath = `${stateFolder}/attempts.json`;
/** There while the container runtime still has what a donor ran. */
export const foreignContainersPath = `${stateFolder}/foreign-containers`;
export const journalFolder = `${stateFolder}/journal`;
export const originalsFolder = `${stateFolder}/originals`;
export const downloadsFolder = `${stateFolder}/downloads`;

export const runFolder = '/run/imago';
export const statusPath = `${runFolder}/status.json`;
/** What the last good apply of this boot looked at: see `quick-check.ts`. */
export const quickPath = `${runFolder}/applied.json`;
/** Units that need a configured node start only when it is there. */
export const configuredPath = `${runFolder}/configured`;
/** The same for a node that has an identity of its own. */
export const identifiedPath = `${runFolder}/identified`;
/** Whom a fetch trusts: the system's authorities and those of the config. */
export const fetchTrustPath = `${runFolder}/trust.pem`;
export const lockPath = `${runFolder}/lock`;

export const bootIdPath = '/proc/sys/kernel/random/boot_id';
