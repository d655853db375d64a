import type {
  KeysBackupRequest,
  KeysClaimRequest,
  KeysQueryRequest,
  KeysUploadRequest,
  OlmMachine,
  RoomMessageRequest,
  SignatureUploadRequest,
  ToDeviceRequest,
} from '@matrix-org/matrix-sdk-crypto-wasm';
import { faultPoint } from '../../core/faults.ts';
import type { NomosClient } from '../matrix/client.ts';
import type { CryptoLibrary } from './machine.ts';

/** A request that the machine wants to be made. */
export type MachineRequest =
  | KeysUploadRequest
  | KeysQueryRequest
  | KeysClaimRequest
  | ToDeviceRequest
  | SignatureUploadRequest
  | RoomMessageRequest
  | KeysBackupRequest;

/**
 * Makes one of the machine's requests and hands the answer back to it. Throws what the homeserver answered: the machine then
 * asks for the same again.
 */
export async function carryOut(
  client: NomosClient,
  machine: OlmMachine,
  library: CryptoLibrary,
  request: MachineRequest,
): Promise<void> {
  const { id, type } = request;
  await faultPoint('crypto.before_request');
  const answer = await send(client, library, request);
  await faultPoint('crypto.after_request');
  if (id !== undefined) await machine.markRequestAsSent(id, type, JSON.stringify(answer));
}

async function send(
  client: NomosClient,
  { RequestType }: CryptoLibrary,
  request: MachineRequest,
): Promise<unknown> {
  const body: unknown = JSON.parse(request.body);
  const v3 = '/_matrix/client/v3';
  switch (request.type) {
    case RequestType.KeysUpload:
      return client.doRequest('POST', `${v3}/keys/upload`, null, body);
    case RequestType.KeysQuery:
      return client.doRequest('POST', `${v3}/keys/query`, null, body);
    case RequestType.KeysClaim:
      return client.doRequest('POST', `${v3}/keys/claim`, null, body);
    case RequestType.SignatureUpload:
      return client.doRequest('POST', `${v3}/keys/signatures/upload`, null, body);
    case RequestType.ToDevice: {
      const { event_type: type, txn_id: txn } = request as ToDeviceRequest;
      const path = `${v3}/sendToDevice/${encodeURIComponent(type)}/${encodeURIComponent(txn)}`;
      return client.doRequest('PUT', path, null, body);
    }
    default:
      // Messages of a verification in a room, and key backups: the bot begins neither.
      throw new Error(`The crypto library asks for a request of type ${request.type}.`);
  }
}
