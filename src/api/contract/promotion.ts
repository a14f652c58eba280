// Promotion: channels, gates and their policy, approvals, scan reports, signed statements, releases.
import * as z from 'zod';
import { channel, evidence } from '../schemas/catalog.ts';
import { name, pageOf, pageQuery } from '../schemas/common.ts';
import { operation } from '../schemas/operation.ts';
import { composed, gatesQuery, policyRecord, policyRequest, policyResult } from '../schemas/policy.ts';
import {
  approvalRequest,
  deleteChannelQuery,
  moveAttestation,
  movePath,
  newChannel,
  overrideRequest,
  releaseRequest,
  scanRequest,
  scheduledRelease,
} from '../schemas/promotion.ts';
import { schedule } from '../schemas/schedule.ts';
import { endpoint } from './endpoint.ts';

const imagePath = z.strictObject({ image: name });
const channelPath = z.strictObject({ image: name, channel: name });
const versionPath = z.strictObject({ image: name, version: name });

export const promotionContract = {
  createChannel: endpoint({
    tag: 'Channels',
    summary: 'Add a channel to an image',
    role: 'publisher',
    effect: 'write',
    path: imagePath,
    body: newChannel,
    status: 201,
    response: channel,
  }),
  deleteChannel: endpoint({
    tag: 'Channels',
    summary: 'Delete a channel; its moves are kept',
    role: 'publisher',
    effect: 'write',
    path: channelPath,
    query: deleteChannelQuery,
    status: 200,
    response: channel,
  }),
  overridePromote: endpoint({
    tag: 'Channels',
    summary: 'Move a channel through closed gates, with a reason that stays visible',
    description: 'The gates `real`, `tested` and `restricted` cannot be overridden.',
    role: 'admin',
    effect: 'operation',
    body: overrideRequest,
    status: 202,
    response: operation,
  }),
  showGates: endpoint({
    tag: 'Channels',
    summary: 'What every gate before a channel says of a version now',
    role: 'viewer',
    effect: 'read',
    query: gatesQuery,
    status: 200,
    response: policyResult,
  }),
  showMoveAttestation: endpoint({
    tag: 'Channels',
    summary: 'The signed statement of a move, to be checked with no server',
    role: 'viewer',
    effect: 'read',
    path: movePath,
    status: 200,
    response: moveAttestation,
  }),
  signMove: endpoint({
    tag: 'Channels',
    summary: 'Sign a move that was made when there was no key, or that a key signed which was revoked since',
    description:
      'What is signed is what was recorded at the time of the move. A statement that counts stays as it is; one that does not is kept beside the new one.',
    role: 'publisher',
    effect: 'write',
    path: movePath,
    status: 200,
    response: moveAttestation,
  }),
  showPolicy: endpoint({
    tag: 'Channels',
    summary: 'The policy in force',
    role: 'viewer',
    effect: 'read',
    status: 200,
    response: policyRecord,
  }),
  listPolicies: endpoint({
    tag: 'Channels',
    summary: 'Every policy that was ever in force, newest first',
    role: 'viewer',
    effect: 'read',
    query: pageQuery,
    status: 200,
    response: pageOf(policyRecord),
  }),
  setPolicy: endpoint({
    tag: 'Channels',
    summary: 'Put a policy in force; a dry run only checks it',
    role: 'admin',
    effect: 'write',
    body: policyRequest,
    status: 200,
    response: policyRecord,
  }),
  approveVersion: endpoint({
    tag: 'Images',
    summary: 'Approve a version for a channel, or take that back',
    description: 'Counts by the role of the token; the local owner of the socket is nobody in particular.',
    role: 'operator',
    effect: 'write',
    path: versionPath,
    body: approvalRequest,
    status: 201,
    response: evidence,
  }),
  attachScan: endpoint({
    tag: 'Images',
    summary: 'Attach what a scanner found in a version',
    role: 'publisher',
    effect: 'write',
    path: versionPath,
    body: scanRequest,
    status: 201,
    response: evidence,
  }),
  listComposed: endpoint({
    tag: 'Images',
    summary: 'The units that a version was tested in, newest first',
    role: 'viewer',
    effect: 'read',
    path: versionPath,
    status: 200,
    response: pageOf(composed),
  }),
  createRelease: endpoint({
    tag: 'Images',
    summary: 'Lock, build, test, publish and promote a recipe, in one operation',
    role: 'publisher',
    effect: 'operation',
    body: releaseRequest,
    status: 202,
    response: operation,
  }),
  scheduleRelease: endpoint({
    tag: 'Schedules',
    summary: 'Release a recipe by the clock; with `newest`, whenever an input has a newer version by then',
    role: 'publisher',
    effect: 'write',
    body: scheduledRelease,
    status: 201,
    response: schedule,
  }),
};
