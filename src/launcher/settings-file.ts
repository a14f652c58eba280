// settings.json in the state directory: read by the daemon at every start, changed by the running daemon, or by the
// command line while no daemon runs.
import { mkdirSync, readFileSync } from 'node:fs';
import { ImagoError } from '../domain/error/imago-error.ts';
import { checkSettings, readSettings, type Settings } from '../domain/settings/settings.ts';
import { writeFileDurably } from '../host/files/durable-files.ts';
import { waitForFileLock } from '../host/files/file-lock.ts';
import { type StatePaths, statePaths } from './paths.ts';

const LOCK_TIMEOUT_MS = 5000;

export interface SettingsFile {
  /** Returns no settings if there is no file. Throws `setting-unknown` or `setting-invalid` if its content is wrong. */
  read(): Settings;
  /** Changes the settings under a lock: two callers cannot lose each other's change. */
  change(change: (settings: Settings) => Settings): Promise<Settings>;
}

export function openSettings(home: string): SettingsFile {
  const paths = statePaths(home);
  return {
    read: () => readFile(paths),
    async change(change) {
      mkdirSync(home, { recursive: true, mode: 0o700 });
      const lock = await waitForFileLock(paths.settingsLock, LOCK_TIMEOUT_MS);
      try {
        const before = readFile(paths);
        const after = checkSettings(change(before));
        const text = JSON.stringify(after, null, 2);
        if (text !== JSON.stringify(before, null, 2)) await writeFileDurably(paths.settings, `${text}\n`);
        return after;
      } finally {
        lock?.release();
      }
    },
  };
}

function readFile({ settings }: StatePaths): Settings {
  let text: string;
  try {
    text = readFileSync(settings, 'utf8');
  } catch (error) {
    // A home that is a file is reported by whatever uses it.
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return {};
    throw error;
  }
  try {
    return readSettings(JSON.parse(text) as object, (name) => `${name} in ${settings}`);
  } catch (error) {
    if (error instanceof ImagoError) throw error;
    throw new ImagoError('setting-invalid', `${settings} is not valid JSON.`, { cause: error });
  }
}
