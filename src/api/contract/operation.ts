// Operations, what starts them, and the events that tell of them.
import * as z from 'zod';
import { name, pageOf, pageQuery } from '../schemas/common.ts';
import { event, eventsQuery } from '../schemas/event.ts';
import { logLine, operation, operationsQuery, testRequest, waitQuery } from '../schemas/operation.ts';
import { buildRequest, hotfixRequest } from '../schemas/recipe.ts';
import { endpoint } from './endpoint.ts';

const operationPath = z.strictObject({ operation: name });

export const operationsContract = {
  createBuild: endpoint({
    tag: 'Images',
    summary: 'Lock a recipe, build it, and seal a candidate for each version that it stands for',
    role: 'publisher',
    effect: 'operation',
    body: buildRequest,
    status: 202,
    response: operation,
  }),
  createHotfix: endpoint({
    tag: 'Images',
    summary: 'Build a version again with other versions of some components, and nothing else changed',
    role: 'publisher',
    effect: 'operation',
    body: hotfixRequest,
    status: 202,
    response: operation,
  }),
  createTest: endpoint({
    tag: 'Images',
    summary: 'Boot a sealed version, run its checks, store the evidence',
    role: 'publisher',
    effect: 'operation',
    body: testRequest,
    status: 202,
    response: operation,
  }),
  listOperations: endpoint({
    tag: 'Operations',
    summary: 'Operations, newest first',
    role: 'viewer',
    effect: 'read',
    query: operationsQuery,
    status: 200,
    response: pageOf(operation),
  }),
  showOperation: endpoint({
    tag: 'Operations',
    summary: 'One operation',
    role: 'viewer',
    effect: 'read',
    path: operationPath,
    status: 200,
    response: operation,
  }),
  waitOperation: endpoint({
    tag: 'Operations',
    summary: 'One operation, as soon as it has ended or the time is up',
    role: 'viewer',
    effect: 'read',
    path: operationPath,
    query: waitQuery,
    status: 200,
    response: operation,
  }),
  listOperationChildren: endpoint({
    tag: 'Operations',
    summary: 'The operations that an operation started',
    role: 'viewer',
    effect: 'read',
    path: operationPath,
    status: 200,
    response: pageOf(operation),
  }),
  listOperationLogs: endpoint({
    tag: 'Operations',
    summary: 'The log of an operation, oldest line first',
    role: 'viewer',
    effect: 'read',
    path: operationPath,
    query: pageQuery,
    status: 200,
    response: pageOf(logLine),
  }),
  cancelOperation: endpoint({
    tag: 'Operations',
    summary: 'Ask an operation to undo and stop',
    description: 'Needs the role that starting the operation needed.',
    role: 'operator',
    effect: 'write',
    path: operationPath,
    status: 202,
    response: operation,
  }),
  retryOperation: endpoint({
    tag: 'Operations',
    summary: 'Run the same request again; steps whose check holds are skipped',
    description: 'Needs the role that starting the operation needed.',
    role: 'operator',
    effect: 'write',
    path: operationPath,
    status: 202,
    response: operation,
  }),
  watchEvents: endpoint({
    tag: 'Events',
    summary: 'What happens, as server-sent events',
    description:
      'Goes on after `Last-Event-ID`, or `after`. Comments are sent now and then to keep the connection alive.',
    role: 'viewer',
    effect: 'read',
    query: eventsQuery,
    stream: 'events',
    status: 200,
    response: event,
  }),
};
