// The way into nodes for people.
import * as z from 'zod';
import { name } from '../schemas/common.ts';
import { consoleQuery, nodeConsole, nodeTimeline } from '../schemas/node-access.ts';
import { endpoint } from './endpoint.ts';

const nodePath = z.strictObject({ node: name });

export const nodeAccessContract = {
  readConsole: endpoint({
    tag: 'Nodes',
    summary: 'The last lines of a node’s boot console',
    role: 'viewer',
    effect: 'read',
    path: nodePath,
    query: consoleQuery,
    status: 200,
    response: nodeConsole,
  }),
  followConsole: endpoint({
    tag: 'Nodes',
    summary: 'A node’s boot console as it is written',
    description: 'The last lines, then each new one, as UTF-8 text. Ends with the machine.',
    role: 'viewer',
    effect: 'read',
    path: nodePath,
    query: consoleQuery,
    status: 200,
    response: z.string(),
    stream: 'download',
  }),
  showTimeline: endpoint({
    tag: 'Nodes',
    summary: 'How a node came up',
    role: 'viewer',
    effect: 'read',
    path: nodePath,
    status: 200,
    response: nodeTimeline,
  }),
  openShell: endpoint({
    tag: 'Nodes',
    summary: 'A root shell on a node',
    description:
      'Bytes both ways at once. What is sent is a JSON document a line: `{"input": BASE64}` for keys, `{"rows", "columns"}` for the size of the terminal. What comes back is what the shell says, as it is. Ends with the shell, or when the caller ends what it sends.',
    role: 'operator',
    effect: 'query',
    path: nodePath,
    status: 200,
    response: z.string(),
    stream: 'duplex',
    audited: true,
  }),
};
