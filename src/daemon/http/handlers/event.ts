// The stream of events.
import type { Handlers } from '../endpoint/call.ts';
import { eventResponse, startOfStream } from '../response/event-response.ts';

const watchEvents: Handlers['watchEvents'] = async (call) => {
  const { context, query, headers, signal, slots, caller } = call;
  const lastEventId = headers.get('last-event-id');
  const after = await startOfStream(context.events, {
    ...(lastEventId === null ? {} : { lastEventId }),
    ...(query.after === undefined ? {} : { after: query.after }),
  });
  return eventResponse({
    events: context.events,
    ...(query.subject === undefined ? {} : { subject: query.subject }),
    after,
    signal: AbortSignal.any([signal, context.stopping]),
    heartbeatMs: call.limits.heartbeatMs,
    reconnectMs: call.limits.reconnectMs,
    onEnd: slots.take(caller.token ?? caller.who),
  });
};

export const eventHandlers = { watchEvents };
