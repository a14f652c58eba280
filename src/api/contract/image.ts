// Images and their versions: what they are, what they contain, and what was tested.
import { composed, evidence } from '../../domain/evidence/record.ts';
import { image, version } from '../../domain/image/record.ts';
import { catalogImage } from '../../domain/public-catalog/record.ts';
import { resolution, resolveQuery, shownVersion } from '../schemas/catalog.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import {
  diffQuery,
  exportQuery,
  recordKind,
  signature,
  signatures,
  upload,
  versionDiff,
} from '../schemas/image.ts';
import { approvalRequest, scanRequest } from '../schemas/promotion.ts';
import { create, endpoints, read } from './endpoint.ts';

export const imageContract = endpoints('Images', {
  listImages: read('GET /v1/images', 'List images', { query: pageQuery, response: pageOf(image) }),
  showImage: read('GET /v1/images/{image}', 'Show an image', { response: image }),
  listVersions: read(
    'GET /v1/images/{image}/versions',
    'List the versions of an image, highest number first',
    { query: pageQuery, response: pageOf(version) },
  ),
  showVersion: read('GET /v1/images/{image}/versions/{version}', 'Show a version and its end of support', {
    response: shownVersion,
  }),
  listEvidence: read(
    'GET /v1/images/{image}/versions/{version}/evidence',
    'List the tests, scans, and approvals of a version',
    { response: pageOf(evidence) },
  ),
  resolve: read('GET /v1/resolve', 'Resolve an image reference to an exact version and digest', {
    query: resolveQuery,
    response: resolution,
  }),
  readRecord: read(
    'GET /v1/images/{image}/versions/{version}/records/{record}',
    'Download the release notes, SBOM, inventory, or provenance of a version',
    { params: { record: recordKind }, stream: 'download' },
  ),
  diffVersions: read(
    'GET /v1/images/{image}/versions/{version}/diff',
    'Compare the contents of two versions',
    { query: diffQuery, response: versionDiff },
  ),
  listComposed: read(
    'GET /v1/images/{image}/versions/{version}/composed',
    'List the environments that a version was tested in, newest first',
    { response: pageOf(composed) },
  ),
  approveVersion: create(
    'POST /v1/images/{image}/versions/{version}/approvals',
    'Approve or reject a version for a channel',
    {
      role: 'operator',
      body: approvalRequest,
      response: evidence,
      description:
        'The role of the token decides whether an approval is valid. The local user of the socket is never an approver.',
    },
  ),
  attachScan: create(
    'POST /v1/images/{image}/versions/{version}/scans',
    'Attach a scan report to a version as evidence',
    { role: 'publisher', body: scanRequest, response: evidence },
  ),
  listSignatures: read(
    'GET /v1/images/{image}/versions/{version}/signatures',
    'List the signatures of a version, and whether each is valid',
    { response: signatures },
  ),
  signVersion: create(
    'POST /v1/images/{image}/versions/{version}/signatures',
    'Sign a version with the active key',
    { role: 'publisher', response: signature },
  ),
  uploadDisk: create('POST /v1/uploads', 'Upload a disk, to be imported', {
    role: 'publisher',
    response: upload,
    stream: 'upload',
  }),
  exportVersion: read(
    'GET /v1/images/{image}/versions/{version}/disk',
    'Download the disk of a version as a file',
    { role: 'operator', query: exportQuery, audited: true, stream: 'download' },
  ),
  showCatalogImage: read(
    'GET /v1/catalog/{image}',
    'Show the public data of an image, for the exported catalog',
    { response: catalogImage, description: 'Never includes candidates and versions with private inputs.' },
  ),
});
