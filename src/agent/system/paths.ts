// The paths of the agent's records. Those that must outlive the boot are below /var/lib, the others below /run.
export const stateFolder = '/var/lib/imago';
/** The active config, without its secrets: the last that was applied and verified. */
export const goodConfigPath = `${stateFolder}/config.json`;
/** A config that failed on this machine: not retried until another one arrives. */
export const failedConfigPath = `${stateFolder}/failed.json`;
/** The paths that belong to the config, and their original content. */
export const managedPath = `${stateFolder}/managed.json`;
export const identityPath = `${stateFolder}/identity.json`;
/** Records that the outcome of the first boot was reported to the cloud. */
export const platformReportPath = `${stateFolder}/platform-report.json`;
/** How often the machine stopped while it applied the current config. */
export const attemptsPath = `${stateFolder}/attempts.json`;
/** Exists while the container runtime still has containers of a donor. */
export const foreignContainersPath = `${stateFolder}/foreign-containers`;
export const journalFolder = `${stateFolder}/journal`;
export const originalsFolder = `${stateFolder}/originals`;
export const downloadsFolder = `${stateFolder}/downloads`;

export const runFolder = '/run/imago';
export const statusPath = `${runFolder}/status.json`;
/** The id of the last script of the userData. */
export const commandPath = `${runFolder}/last-command`;
/** The facts of the last good apply of this boot: see `quick-check.ts`. */
export const quickPath = `${runFolder}/applied.json`;
/** Units that need a configured node start only if this exists. */
export const configuredPath = `${runFolder}/configured`;
/** The same for a node that has its own identity. */
export const identifiedPath = `${runFolder}/identified`;
/** The trust anchors of a fetch: those of the system and of the config. */
export const fetchTrustPath = `${runFolder}/trust.pem`;
export const lockPath = `${runFolder}/lock`;
