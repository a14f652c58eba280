// What makes versions, and what copies them.
import {
  exportQuery,
  importRequest,
  publishRequest,
  pullRequest,
  pushRequest,
  upload,
  verifyRequest,
} from '../schemas/image.ts';
import { testRequest } from '../schemas/operation.ts';
import { releaseRequest } from '../schemas/promotion.ts';
import { buildRequest, hotfixRequest } from '../schemas/recipe.ts';
import { create, endpoints, operation, read } from './endpoint.ts';

export const imageWorkContract = endpoints('Images', {
  createBuild: operation(
    'POST /v1/builds',
    'Lock a recipe, build it, and seal a candidate for each of its variants',
    { role: 'publisher', body: buildRequest },
  ),
  createHotfix: operation(
    'POST /v1/hotfixes',
    'Rebuild a version with other versions of some components, and no other change',
    { role: 'publisher', body: hotfixRequest },
  ),
  createTest: operation(
    'POST /v1/tests',
    'Boot a sealed version, run its checks, and record the results as evidence',
    { role: 'publisher', body: testRequest },
  ),
  createRelease: operation(
    'POST /v1/releases',
    'Lock, build, test, publish, and promote a recipe in one operation',
    { role: 'publisher', body: releaseRequest },
  ),
  verifyImage: operation(
    'POST /v1/images/verify',
    'Verify the integrity of a version and repair damaged data',
    { role: 'operator', body: verifyRequest },
  ),
  uploadDisk: create('POST /v1/uploads', 'Upload a disk, to be imported', {
    role: 'publisher',
    response: upload,
    stream: 'upload',
  }),
  importImage: operation('POST /v1/images/import', 'Import an uploaded disk as a candidate', {
    role: 'publisher',
    body: importRequest,
  }),
  exportVersion: read(
    'GET /v1/images/{image}/versions/{version}/disk',
    'Download the disk of a version as a file',
    { role: 'operator', query: exportQuery, audited: true, stream: 'download' },
  ),
  publishImage: operation('POST /v1/images/publish', 'Publish a version to a gallery', {
    role: 'publisher',
    body: publishRequest,
  }),
  pushImage: operation(
    'POST /v1/images/push',
    'Push a version and everything attached to it to an OCI registry',
    { role: 'publisher', body: pushRequest },
  ),
  pullImage: operation('POST /v1/images/pull', 'Pull a version from an OCI registry as a candidate', {
    role: 'publisher',
    body: pullRequest,
  }),
});
