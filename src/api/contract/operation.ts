// Operations, and the events that report on them.
import { operation } from '../../domain/operation/record.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import { event, eventsQuery } from '../schemas/event.ts';
import { logLine, operationsQuery, shownOperation, waitQuery } from '../schemas/operation.ts';
import { endpoints, read, write } from './endpoint.ts';

export const operationContract = endpoints('Operations', {
  listOperations: read('GET /v1/operations', 'List operations, newest first', {
    query: operationsQuery,
    response: pageOf(operation),
  }),
  showOperation: read('GET /v1/operations/{operation}', 'Show an operation and its steps', {
    response: shownOperation,
  }),
  waitOperation: read(
    'GET /v1/operations/{operation}/wait',
    'Show an operation as soon as it finishes or the wait times out',
    { query: waitQuery, response: operation },
  ),
  listOperationChildren: read(
    'GET /v1/operations/{operation}/children',
    'List the operations that an operation started',
    { response: pageOf(operation) },
  ),
  listOperationLogs: read(
    'GET /v1/operations/{operation}/logs',
    'List the log of an operation, oldest line first',
    { query: pageQuery, response: pageOf(logLine) },
  ),
  cancelOperation: write(
    'POST /v1/operations/{operation}/cancel',
    'Cancel an operation and undo its changes',
    {
      role: 'operator',
      status: 202,
      response: operation,
      description: 'Requires the role that starting the operation requires.',
    },
  ),
  retryOperation: write(
    'POST /v1/operations/{operation}/retry',
    'Retry an operation, skipping completed steps',
    {
      role: 'operator',
      status: 202,
      response: operation,
      description: 'Requires the role that starting the operation requires.',
    },
  ),
});

export const eventContract = endpoints('Events', {
  watchEvents: read('GET /v1/events', 'Stream events as they happen (server-sent events)', {
    query: eventsQuery,
    response: event,
    stream: 'events',
    description:
      'Resumes after `Last-Event-ID`, or after `after`. Sends comments periodically to keep the connection alive.',
  }),
});
