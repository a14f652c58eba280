// Names for files and folders of one process, by which the next one tells what a killed one left.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';

const pattern = /^(?:[a-z]+-)?(\d+)-(\d+)-[0-9a-f-]{36}$/;

/** A name that no other has. */
export function ownedName(prefix = ''): string {
  return `${prefix}${process.pid}-${startOf(process.pid)}-${randomUUID()}`;
}

/** Whether the process that the name was made by is gone; false for names of another kind. */
export function isAbandoned(name: string): boolean {
  const match = pattern.exec(name);
  return match !== null && startOf(Number(match[1])) !== match[2];
}

/** When a process began, so that its number is not mistaken for that of a later one. */
function startOf(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
