// What a node says about itself: one JSON document, written by the agent to /run/imago/status.json and sent as one
// line to whoever runs the machine. It never holds a secret.
import type { Json } from '../value/json.ts';

export const nodeReportSchema = 1;

/** `ready` is said only when everything that the config in force asks for was verified. */
export type NodePhase = 'booting' | 'applying' | 'ready' | 'failed';

const nodePhases: readonly NodePhase[] = ['booting', 'applying', 'ready', 'failed'];

/** What a change costs the node; the last one cannot be done by the agent. */
export type ChangeCost = 'live' | 'restart' | 'drain' | 'reimage';

/** `unchanged`: the step looked and found everything as it should be. */
export type NodeStepState = 'running' | 'done' | 'unchanged' | 'failed';

export interface NodeError {
  /** A code of the catalogue of errors. */
  readonly class: string;
  readonly message: string;
  /** Whether the agent tries again by itself. */
  readonly retry: boolean;
  /** What a person should do. */
  readonly remedy?: string;
}

export interface NodeStep {
  readonly name: string;
  readonly state: NodeStepState;
  /** Milliseconds since the kernel started. */
  readonly startedMs: number;
  readonly durationMs: number;
  readonly error?: NodeError;
}

/** A moment of this boot. Those before the kernel (`firmware`, `loader`) are negative. */
export interface TimelineMark {
  readonly name: string;
  /** Milliseconds since the kernel started. */
  readonly ms: number;
}

/** A node config by its bytes: sha256 of the document as it was decoded from userData, in hexadecimal. */
export interface NodeConfigRef {
  readonly digest: string;
  readonly schemaVersion: string;
}

export interface PendingChange {
  /** The field's path in the node config. */
  readonly field: string;
  readonly sentence: string;
  readonly cost: ChangeCost;
}

/** The agent has a config that it may not apply yet. */
export interface NodeWaiting {
  readonly for: 'restart' | 'drain' | 'reimage';
  readonly digest: string;
}

export interface NodeReport {
  readonly schema: typeof nodeReportSchema;
  readonly phase: NodePhase;
  /** By the node's own clock. */
  readonly at: string;
  /** The id from instance metadata; absent until it was read. */
  readonly machineId?: string;
  readonly bootId: string;
  readonly agentVersion: string;
  /** The config in force: the last one that was applied and verified. */
  readonly config?: NodeConfigRef;
  /** The config that was read last, when it is not the one in force. */
  readonly wanted?: NodeConfigRef;
  /** Of the last apply, in their order. */
  readonly steps: readonly NodeStep[];
  /**
   * Why the phase is `failed`; or, with any other phase, why the wanted config was refused or taken back while the
   * config in force goes on.
   */
  readonly error?: NodeError;
  readonly timeline: readonly TimelineMark[];
  /** What the wanted config would change. */
  readonly pending: readonly PendingChange[];
  readonly waiting?: NodeWaiting;
}

/** Reads a line that a node sent; undefined when it is no report, so that noise on a port is no error. */
export function readNodeReport(line: string): NodeReport | undefined {
  const value = parse(line);
  if (!isRecord(value)) return undefined;
  const { schema, phase, at, bootId, agentVersion, steps, timeline, pending } = value;
  if (schema !== nodeReportSchema || typeof at !== 'string' || typeof bootId !== 'string') return undefined;
  if (!nodePhases.some((known) => known === phase) || typeof agentVersion !== 'string') return undefined;
  if (![steps, timeline, pending].every((list) => Array.isArray(list) && list.every(isRecord))) {
    return undefined;
  }
  return value as unknown as NodeReport;
}

function parse(line: string): Json | undefined {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
}

function isRecord(value: Json | undefined): value is { readonly [key: string]: Json | undefined } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
