// Channels, their moves, and the gates before them.

import * as z from 'zod';
import { policyResult } from '../../domain/channel/decision.ts';
import { channel, move } from '../../domain/channel/record.ts';
import { policyRecord } from '../../domain/policy/schema.ts';
import { movesQuery } from '../schemas/catalog.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import { gatesQuery, policyRequest } from '../schemas/policy.ts';
import { deleteChannelQuery, moveAttestation, newChannel } from '../schemas/promotion.ts';
import { create, endpoints, read, write } from './endpoint.ts';

const moveId = z.coerce.number<string>().int().min(1);

export const channelContract = endpoints('Channels', {
  listChannels: read(
    'GET /v1/images/{image}/channels',
    'List the channels of an image and the versions they point to',
    { response: pageOf(channel) },
  ),
  listMoves: read('GET /v1/images/{image}/moves', 'List all channel moves of an image, newest first', {
    query: movesQuery,
    response: pageOf(move),
  }),
  createChannel: create('POST /v1/images/{image}/channels', 'Create a channel', {
    role: 'publisher',
    body: newChannel,
    response: channel,
  }),
  deleteChannel: write(
    'DELETE /v1/images/{image}/channels/{channel}',
    'Delete a channel; its history is retained',
    { role: 'publisher', query: deleteChannelQuery, response: channel },
  ),
  showGates: read('GET /v1/gates', 'Show the status of each gate between a version and a channel', {
    query: gatesQuery,
    response: policyResult,
  }),
  showMoveAttestation: read(
    'GET /v1/moves/{move}/attestation',
    'Show the signed attestation of a channel move, which can be verified offline',
    { params: { move: moveId }, response: moveAttestation },
  ),
  signMove: write('POST /v1/moves/{move}/attestation', 'Sign a channel move that has no valid signature', {
    role: 'publisher',
    params: { move: moveId },
    response: moveAttestation,
    description:
      'Signs what was recorded at the time of the move. A valid attestation is left unchanged; an invalid one is retained next to the new one.',
  }),
  showPolicy: read('GET /v1/policy', 'Show the active policy', { response: policyRecord }),
  listPolicies: read('GET /v1/policies', 'List all policies that were ever active, newest first', {
    query: pageQuery,
    response: pageOf(policyRecord),
  }),
  setPolicy: write('POST /v1/policy', 'Activate a policy; a dry run only validates it', {
    role: 'admin',
    body: policyRequest,
    response: policyRecord,
  }),
});
