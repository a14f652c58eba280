// Images, versions, channels.
import * as z from 'zod';
import {
  channel,
  evidence,
  image,
  move,
  movesQuery,
  promoteRequest,
  resolution,
  resolveQuery,
  rollbackChannelRequest,
  shownVersion,
  version,
} from '../schemas/catalog.ts';
import { name, pageOf, pageQuery } from '../schemas/common.ts';
import { operation } from '../schemas/operation.ts';
import { endpoint } from './endpoint.ts';

const imagePath = z.strictObject({ image: name });
const versionPath = z.strictObject({ image: name, version: name });

export const catalogueContract = {
  listImages: endpoint({
    tag: 'Images',
    summary: 'All images',
    role: 'viewer',
    effect: 'read',
    query: pageQuery,
    status: 200,
    response: pageOf(image),
  }),
  showImage: endpoint({
    tag: 'Images',
    summary: 'One image',
    role: 'viewer',
    effect: 'read',
    path: imagePath,
    status: 200,
    response: image,
  }),
  listVersions: endpoint({
    tag: 'Images',
    summary: 'The versions of an image, newest number first',
    role: 'viewer',
    effect: 'read',
    path: imagePath,
    query: pageQuery,
    status: 200,
    response: pageOf(version),
  }),
  showVersion: endpoint({
    tag: 'Images',
    summary: 'One version, and until when it is supported',
    role: 'viewer',
    effect: 'read',
    path: versionPath,
    status: 200,
    response: shownVersion,
  }),
  listEvidence: endpoint({
    tag: 'Images',
    summary: 'The tests, scans and approvals of a version',
    role: 'viewer',
    effect: 'read',
    path: versionPath,
    status: 200,
    response: pageOf(evidence),
  }),
  resolve: endpoint({
    tag: 'Images',
    summary: 'The exact version and digest that a reference names now',
    role: 'viewer',
    effect: 'read',
    query: resolveQuery,
    status: 200,
    response: resolution,
  }),
  listChannels: endpoint({
    tag: 'Channels',
    summary: 'The channels of an image',
    role: 'viewer',
    effect: 'read',
    path: imagePath,
    status: 200,
    response: pageOf(channel),
  }),
  listMoves: endpoint({
    tag: 'Channels',
    summary: 'Every move of the channels of an image, newest first',
    role: 'viewer',
    effect: 'read',
    path: imagePath,
    query: movesQuery,
    status: 200,
    response: pageOf(move),
  }),
  promote: endpoint({
    tag: 'Channels',
    summary: 'Move a channel to a version',
    role: 'publisher',
    effect: 'operation',
    body: promoteRequest,
    status: 202,
    response: operation,
  }),
  rollbackChannel: endpoint({
    tag: 'Channels',
    summary: 'Move a channel back to its previous version',
    role: 'publisher',
    effect: 'operation',
    body: rollbackChannelRequest,
    status: 202,
    response: operation,
  }),
};
