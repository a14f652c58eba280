// Applies many changes as one. Everything is staged next to its path, and the existing content is saved; from then on the
// state of the journal is "committed", and the next start finishes after any crash; until then, the next start cleans up.
// Reverting needs no space: the saved files are renamed into place.
import type { Change, Effect } from '../desired/change.ts';
import { stagedPath } from '../desired/desired.ts';
import { identityPath, journalFolder, stateFolder } from '../system/paths.ts';
import {
  type FileMode,
  folderOf,
  makeDurable,
  nameOf,
  readRecord,
  removeTree,
  type System,
  SystemFault,
} from '../system/system.ts';

export type JournalState = 'preparing' | 'committed' | 'undoing';

type Before =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'saved'; readonly file: string }
  | { readonly kind: 'link'; readonly target: string };

interface JournalEntry {
  readonly path: string;
  readonly does: 'place' | 'remove';
  readonly before: Before;
}

interface NewFolder extends FileMode {
  readonly path: string;
}

/** A previous kernel value. */
export interface KernelValue {
  readonly path: string;
  readonly value: string;
}

export interface JournalFacts {
  /** The digest of the config that the changes belong to. */
  readonly digest: string;
  readonly bootId: string;
  readonly effects: readonly Effect[];
  /** Restored when the changes are undone. */
  readonly kernelValues: readonly KernelValue[];
}

/** A file of the agent that records that the changes are made. Its space is allocated before anything changes. */
export interface JournalRecord {
  readonly path: string;
  readonly text: string;
}

export interface Journal extends JournalFacts {
  readonly state: JournalState;
  readonly entries: readonly JournalEntry[];
  /** Directories that the changes create, outermost first. */
  readonly folders: readonly NewFolder[];
}

const currentFile = `${journalFolder}/current.json`;
const committedFile = `${journalFolder}/committed.json`;
const undoingFile = `${journalFolder}/undoing.json`;
const recordFile = `${journalFolder}/record`;
const savedFolder = `${journalFolder}/saved`;

/** Returns `undefined` if no change is in progress; a journal that is incomplete on disk had not started. */
export function readJournal(system: System): Journal | undefined {
  return readRecord<Journal>(system, currentFile);
}

/**
 * Stages all changes and renames them into place; from the commit on a power failure does not undo them, although they are
 * complete on disk only after `keepChanges`. Throws `SystemFault` with everything reverted; if even that fails (or the
 * machine does), the next start reads the journal.
 */
export async function commitChanges(
  system: System,
  changes: readonly Change[],
  facts: JournalFacts,
  record?: JournalRecord,
): Promise<Journal> {
  removeTree(system, journalFolder);
  const journal: Journal = {
    ...facts,
    state: 'preparing',
    entries: changes.flatMap((change, index) => entryOf(system, change, index)),
    folders: missingFolders(system, changes),
  };
  const committed: Journal = { ...journal, state: 'committed' };
  try {
    system.makeFolder(journalFolder, { mode: 0o700 });
    system.writeFile(currentFile, JSON.stringify(journal), { mode: 0o600 });
    // A config never persists on a disk whose machine is unknown.
    const identity = system.facts(identityPath) === undefined ? [] : [identityPath];
    await makeDurable(system, [currentFile, journalFolder, stateFolder, ...identity]);
    await stage(system, changes, journal, record);
    await turn(system, committedFile);
    renameIntoPlace(system, committed);
  } catch (thrown) {
    if (readJournal(system)?.state !== 'committed') await discard(system, journal);
    else {
      await undoChanges(system, committed);
      await closeJournal(system);
    }
    throw thrown;
  }
  return committed;
}

/** Renames staged files into place. A second call, and one after a crash in the first, has the same result. */
export function renameIntoPlace(system: System, { entries }: Journal): void {
  for (const { path, does } of entries) {
    if (does === 'remove') system.remove(path);
    else if (system.facts(stagedPath(path)) !== undefined) system.rename(stagedPath(path), path);
  }
}

/**
 * Makes the changes permanent. The record is in place when this returns, and never before all of them are on disk; a crash
 * in between leaves the journal, with which the next start continues.
 */
export async function keepChanges(
  system: System,
  { entries }: Journal,
  record: JournalRecord,
): Promise<void> {
  const isNew = system.readText(record.path) !== record.text;
  // An agent of another version can have started with another one.
  const staged = system.readText(recordFile) === record.text;
  if (isNew && !staged) {
    system.remove(recordFile);
    system.writeFile(recordFile, record.text, { mode: 0o600 });
  }
  await makeDurable(system, [...(isNew && !staged ? [recordFile] : []), ...presentFolders(system, entries)]);
  if (isNew) {
    system.rename(recordFile, record.path);
    await makeDurable(system, [folderOf(record.path)]);
  }
  dropJournal(system);
}

/** Reverts everything to before the commit. A second call, and one after a crash in the first, has the same result. */
export async function undoChanges(system: System, journal: Journal): Promise<void> {
  if (journal.state !== 'undoing') await turn(system, undoingFile);
  for (const entry of journal.entries.toReversed()) putBack(system, entry);
  for (const { path } of journal.folders.toReversed()) removeIfEmpty(system, path);
  for (const { path, value } of journal.kernelValues) system.setKernelValue(path, value);
  await makeDurable(system, presentFolders(system, journal.entries));
}

/** Deletes the journal durably, after the changes are undone. */
export async function closeJournal(system: System): Promise<void> {
  if (system.facts(journalFolder) === undefined) return;
  system.remove(currentFile);
  await makeDurable(system, [journalFolder]);
  dropJournal(system);
}

/** Deletes the journal of changes that stay. If that does not reach the disk, its digest shows that it is done. */
export function dropJournal(system: System): void {
  if (system.facts(journalFolder) === undefined) return;
  system.remove(currentFile);
  removeTree(system, journalFolder);
}

/** Removes what a crash before the commit left. */
export async function discard(system: System, { entries, folders }: Journal): Promise<void> {
  for (const { path } of entries) system.remove(stagedPath(path));
  for (const { path } of folders.toReversed()) removeIfEmpty(system, path);
  await makeDurable(system, presentFolders(system, entries));
  await closeJournal(system);
}

/** Changes the state by a rename, which a full disk does not prevent. */
async function turn(system: System, prepared: string): Promise<void> {
  system.rename(prepared, currentFile);
  await makeDurable(system, [journalFolder]);
}

/** Directories are only ever created, so that nothing below one is lost. */
function entryOf(system: System, { path, wanted }: Change, index: number): readonly JournalEntry[] {
  if (wanted.kind === 'folder') return [];
  const does = wanted.kind === 'absent' ? 'remove' : 'place';
  const facts = system.facts(path);
  if (facts === undefined) return [{ path, does, before: { kind: 'nothing' } }];
  if (facts.kind === 'folder') throw new SystemFault('EISDIR', path);
  const target = facts.kind === 'link' ? system.readLink(path) : undefined;
  if (target !== undefined) return [{ path, does, before: { kind: 'link', target } }];
  return [{ path, does, before: { kind: 'saved', file: `${savedFolder}/${index}` } }];
}

async function stage(
  system: System,
  changes: readonly Change[],
  journal: Journal,
  record: JournalRecord | undefined,
): Promise<void> {
  const durable: string[] = [journalFolder, savedFolder];
  system.makeFolder(savedFolder, { mode: 0o700 });
  for (const folder of journal.folders) {
    system.makeFolder(folder.path, folder);
    durable.push(folder.path, folderOf(folder.path));
  }
  for (const { path, before } of journal.entries) {
    const facts = system.facts(path);
    if (before.kind !== 'saved' || facts === undefined) continue;
    system.copyFile(path, before.file, facts);
    durable.push(before.file);
  }
  for (const change of changes) {
    if (stageOne(system, change)) durable.push(stagedPath(change.path));
    durable.push(folderOf(change.path));
  }
  if (record !== undefined && system.readText(record.path) !== record.text) {
    system.writeFile(recordFile, record.text, { mode: 0o600 });
    durable.push(recordFile);
  }
  for (const [file, state] of [
    [committedFile, 'committed'],
    [undoingFile, 'undoing'],
  ] as const) {
    system.writeFile(file, JSON.stringify({ ...journal, state }), { mode: 0o600 });
    durable.push(file);
  }
  await makeDurable(
    system,
    durable.filter((path) => system.facts(path) !== undefined),
  );
}

/** Returns whether there is a new file whose bytes must reach the disk. */
function stageOne(system: System, { path, wanted }: Change): boolean {
  const beside = stagedPath(path);
  switch (wanted.kind) {
    case 'absent':
    case 'folder':
      return false;
    case 'link':
      system.remove(beside);
      system.makeLink(beside, wanted.target);
      return false;
    case 'copy':
      system.remove(beside);
      system.copyFile(wanted.from, beside, wanted);
      return true;
    case 'file':
      system.remove(beside);
      system.writeFile(beside, wanted.text, wanted);
      return true;
  }
}

function putBack(system: System, { path, before }: JournalEntry): void {
  const beside = stagedPath(path);
  system.remove(beside);
  switch (before.kind) {
    case 'nothing':
      system.remove(path);
      return;
    case 'link':
      if (system.readLink(path) === before.target) return;
      system.makeLink(beside, before.target);
      system.rename(beside, path);
      return;
    case 'saved':
      if (system.facts(before.file) === undefined) return;
      system.makeFolder(folderOf(path));
      renameOrCopy(system, before.file, path);
  }
}

/** Copies where a rename fails because it crosses file systems. */
function renameOrCopy(system: System, from: string, to: string): void {
  try {
    system.rename(from, to);
  } catch (thrown) {
    const facts = system.facts(from);
    if (!(thrown instanceof SystemFault) || thrown.code !== 'EIO' || facts === undefined) throw thrown;
    const beside = `${folderOf(to)}/.${nameOf(to)}.imago-old`;
    system.remove(beside);
    system.copyFile(from, beside, facts);
    system.rename(beside, to);
    system.remove(from);
  }
}

function removeIfEmpty(system: System, folder: string): void {
  if (system.facts(folder)?.kind === 'folder' && system.list(folder).length === 0) system.remove(folder);
}

function missingFolders(system: System, changes: readonly Change[]): readonly NewFolder[] {
  const missing = new Map<string, FileMode>();
  for (const { path, wanted } of changes) {
    if (wanted.kind === 'absent') continue;
    for (let at = folderOf(path); at !== '/' && system.facts(at) === undefined; at = folderOf(at)) {
      missing.set(at, missing.get(at) ?? { mode: 0o755 });
    }
    const { kind } = wanted;
    if (kind === 'folder') missing.set(path, { mode: wanted.mode, uid: wanted.uid, gid: wanted.gid });
  }
  return [...missing].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, as]) => ({ path, ...as }));
}

function presentFolders(system: System, entries: readonly JournalEntry[]): readonly string[] {
  return [...new Set(entries.map(({ path }) => folderOf(path)))].filter(
    (folder) => system.facts(folder) !== undefined,
  );
}
