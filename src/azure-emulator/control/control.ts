// How a test steers the emulator beside Azure's own paths: `/imago/faults` and `/imago/clock`.
import type { FaultSpec } from '../../ports/provider/sim-control.ts';
import { ArmError } from '../arm/arm-error.ts';
import type { Face } from '../arm/face.ts';
import type { Json } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';

/** A fault of the ARM endpoint itself: requests that match are refused, or lose their reply. */
interface RequestFault {
  readonly id: number;
  readonly method: string;
  /** A part of the path, in any case. */
  readonly path: string;
  /** The status to answer with; without one the request is done and its reply is lost. */
  readonly status: number | undefined;
  readonly code: string;
  readonly message: string;
  readonly retryAfter: number | undefined;
  /** How many matching requests pass first, and how many are struck. */
  after: number;
  left: number;
}

export class Control {
  readonly #faults: RequestFault[] = [];
  #next = 1;

  /** Answers for the paths of its own; `undefined` for all others. */
  async answer(method: string, path: string, body: Json, face: Face): Promise<Reply | undefined> {
    const { control } = face.cloud;
    if (path === '/imago/clock') {
      if (method === 'POST') await control.setTime(body as { scale?: number; advanceMs?: number });
      return { status: 200, body: { ...(await control.time()) } };
    }
    if (path !== '/imago/faults') return undefined;
    if (method === 'POST') return { status: 201, body: await this.#add(body, face) };
    if (method === 'DELETE') {
      this.#faults.length = 0;
      for (const { id } of await control.listFaults()) await control.removeFault(id);
      return { status: 204 };
    }
    return { status: 200, body: { requests: this.#faults, calls: await control.listFaults() } };
  }

  /** A fault with `call` strikes a call of the cloud model, one with `path` a request. */
  async #add(body: Json, { cloud }: Face): Promise<Json> {
    if (typeof body.call === 'string')
      return { ...(await cloud.control.addFault(body as unknown as FaultSpec)) };
    if (typeof body.path !== 'string')
      throw new ArmError(400, 'BadRequest', 'A fault needs a path or a call.');
    const number = (value: unknown) => (typeof value === 'number' ? value : undefined);
    const fault: RequestFault = {
      ...{ id: this.#next++, method: String(body.method ?? '*'), path: body.path.toLowerCase() },
      ...{ status: number(body.status), code: String(body.code ?? 'InternalServerError') },
      message: String(body.message ?? 'This failure was ordered.'),
      ...{
        retryAfter: number(body.retryAfter),
        after: number(body.after) ?? 0,
        left: number(body.count) ?? 1,
      },
    };
    this.#faults.push(fault);
    return { ...fault };
  }

  /** Returns the fault that strikes this request, and counts it. */
  strike(method: string, path: string): RequestFault | undefined {
    const found = this.#faults.find(
      (fault) =>
        fault.left > 0 &&
        (fault.method === '*' || fault.method === method) &&
        path.toLowerCase().includes(fault.path),
    );
    if (found === undefined) return undefined;
    if (found.after > 0) {
      found.after -= 1;
      return undefined;
    }
    found.left -= 1;
    return found;
  }
}

/** The request was done, but its caller must not learn it. */
export class LostReply extends Error {}
