// QEMU's control protocol: a line of JSON a message, one answer for each command, and events in between.
import { connect, type Socket } from 'node:net';
import { ImagoError } from '../../../domain/error/imago-error.ts';

export interface QmpEvent {
  readonly event: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface Qmp {
  /** Sends a command and gives its answer; throws `machine-not-answering` when there is none in time. */
  execute(command: string, args?: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Resolves when the connection has ended, for whatever reason. */
  readonly ended: Promise<void>;
  close(): void;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const ANSWER_MS = 5000;
const MAX_LINE = 1024 * 1024;

/** Connects and takes control. Rejects if nothing listens, or the peer does not respond in time. */
export async function connectQmp(path: string, onEvent: (event: QmpEvent) => void): Promise<Qmp> {
  const socket = connect(path);
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let greet: () => void = () => undefined;
  const greeting = new Promise<void>((resolve) => {
    greet = resolve;
  });
  const ended = new Promise<void>((resolve) => {
    socket.once('close', () => {
      for (const { reject } of waiting.values()) reject(noAnswer('the connection ended'));
      waiting.clear();
      resolve();
    });
  });
  onLines(socket, (message) => {
    if ('QMP' in message) greet();
    else if (typeof message.event === 'string') onEvent(message as unknown as QmpEvent);
    else settle(waiting, message);
  });

  const execute: Qmp['execute'] = (command, args) => {
    lastId += 1;
    const id = lastId;
    const answer = new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject }));
    socket.write(
      `${JSON.stringify({ execute: command, id, ...(args === undefined ? {} : { arguments: args }) })}\n`,
    );
    return within(answer, command).finally(() => waiting.delete(id));
  };

  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.on('error', () => undefined);
    const lost = ended.then(() => Promise.reject(noAnswer('the connection ended')));
    lost.catch(() => undefined);
    await within(Promise.race([greeting, lost]), 'the greeting');
    await execute('qmp_capabilities');
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return { execute, ended, close: () => socket.destroy() };
}

function settle(waiting: Map<number, Waiting>, message: Readonly<Record<string, unknown>>): void {
  const { id, error } = message;
  const asked = typeof id === 'number' ? waiting.get(id) : undefined;
  if (asked === undefined) return;
  if (error === undefined) asked.resolve(message.return);
  else asked.reject(new ImagoError('machine-not-answering', `QEMU refused: ${JSON.stringify(error)}`));
}

function onLines(socket: Socket, take: (message: Readonly<Record<string, unknown>>) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE) socket.destroy();
    for (const line of lines) {
      const message = parse(line);
      if (message !== undefined) take(message);
    }
  });
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function within<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(noAnswer(`no answer to ${what} in ${ANSWER_MS} ms`)), ANSWER_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function noAnswer(why: string): ImagoError {
  return new ImagoError('machine-not-answering', `QEMU does not answer: ${why}`);
}
