// What happens, in order, for those who watch: the event stream resumes after any event.
import type { Json } from '../../domain/value/json.ts';

export interface ImagoEvent {
  /** Grows; a watcher that lost its connection asks for what came after the last one it saw. */
  readonly id: number;
  readonly at: string;
  /** `operation.state`, `operation.step`, `operation.progress`, `operation.log`, `channel.moved`, `version.state`, … */
  readonly type: string;
  /** `operation/ID`, `image/NAME`, `pool/NAME`. */
  readonly subject: string;
  readonly data: Json;
}

export interface EventQuery {
  /** Only events of this subject. */
  readonly subject?: string;
  /** Only events after this id. */
  readonly after: number;
  readonly limit: number;
}

export interface Events {
  add(event: Omit<ImagoEvent, 'id' | 'at'>): Promise<void>;
  list(query: EventQuery): Promise<readonly ImagoEvent[]>;
  /** The newest id; 0 when nothing happened yet. */
  last(): Promise<number>;
  /** The oldest id that is kept; 0 when there is none. A watcher that stopped before it has missed something. */
  oldest(): Promise<number>;
  /** Calls back soon after new events were added, by any process. The returned function ends it. */
  onAdded(listener: () => void): () => void;
}
