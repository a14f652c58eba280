// Pools and nodes.
import * as z from 'zod';
import { name, pageOf, pageQuery } from '../schemas/common.ts';
import {
  createPoolRequest,
  node,
  nodesQuery,
  nodeWhich,
  pool,
  scalePoolRequest,
  setPoolImageRequest,
} from '../schemas/fleet.ts';
import { operation } from '../schemas/operation.ts';
import { endpoint } from './endpoint.ts';

const poolPath = z.strictObject({ pool: name });
const nodePath = z.strictObject({ node: name });

export const fleetContract = {
  listPools: endpoint({
    tag: 'Pools',
    summary: 'All pools',
    role: 'viewer',
    effect: 'read',
    query: pageQuery,
    status: 200,
    response: pageOf(pool),
  }),
  createPool: endpoint({
    tag: 'Pools',
    summary: 'Make a pool from a version or a channel',
    role: 'operator',
    effect: 'operation',
    body: createPoolRequest,
    status: 202,
    response: operation,
  }),
  showPool: endpoint({
    tag: 'Pools',
    summary: 'One pool',
    role: 'viewer',
    effect: 'read',
    path: poolPath,
    status: 200,
    response: pool,
  }),
  deletePool: endpoint({
    tag: 'Pools',
    summary: 'Delete a pool and all its nodes',
    role: 'operator',
    effect: 'operation',
    path: poolPath,
    status: 202,
    response: operation,
  }),
  scalePool: endpoint({
    tag: 'Pools',
    summary: 'Change how many nodes a pool has',
    role: 'operator',
    effect: 'operation',
    path: poolPath,
    body: scalePoolRequest,
    status: 202,
    response: operation,
  }),
  setPoolImage: endpoint({
    tag: 'Pools',
    summary: 'Change what new nodes of a pool are made from',
    description: 'Existing nodes stay as they are.',
    role: 'operator',
    effect: 'operation',
    path: poolPath,
    body: setPoolImageRequest,
    status: 202,
    response: operation,
  }),
  listNodes: endpoint({
    tag: 'Nodes',
    summary: 'The live nodes of one pool or of all, by pool and name',
    role: 'viewer',
    effect: 'read',
    query: nodesQuery,
    status: 200,
    response: pageOf(node),
  }),
  showNode: endpoint({
    tag: 'Nodes',
    summary: 'One node, also when it is gone',
    role: 'viewer',
    effect: 'read',
    path: nodePath,
    status: 200,
    response: node,
  }),
  whichNode: endpoint({
    tag: 'Nodes',
    summary: 'Which version a node was made from, and why that one',
    role: 'viewer',
    effect: 'read',
    path: nodePath,
    status: 200,
    response: nodeWhich,
  }),
};
