// A second opinion on passkeys and canonical JSON: one question a line, one answer a line.
import {
  generateAuthenticationOptions, generateRegistrationOptions,
  verifyAuthenticationResponse, verifyRegistrationResponse,
} from '@simplewebauthn/server';
import canonicalize from 'canonicalize';
import { createInterface } from 'node:readline';

const bytes = (text) => Uint8Array.from(Buffer.from(text, 'base64url'));
const text = (bytes) => Buffer.from(bytes).toString('base64url');

const answers = {
  async registration({ response, challenge, origin, rpId }) {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response, expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: rpId,
      requireUserVerification: true, supportedAlgorithmIDs: [-7, -8, -257],
    });
    if (!verified) throw new Error('not verified');
    const { credential, fmt, credentialBackedUp } = registrationInfo;
    return { id: credential.id, publicKey: text(credential.publicKey), counter: credential.counter, fmt, credentialBackedUp };
  },
  async assertion({ response, challenge, origin, rpId, credential }) {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response, expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: rpId,
      requireUserVerification: true,
      credential: { id: credential.id, publicKey: bytes(credential.publicKey), counter: credential.counter },
    });
    if (!verified) throw new Error('not verified');
    return { counter: authenticationInfo.newCounter };
  },
  async create({ rpId, algorithms }) {
    return await generateRegistrationOptions({
      rpName: 'Theirs', rpID: rpId, userName: 'ada', attestationType: 'none', supportedAlgorithmIDs: algorithms,
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
    });
  },
  async get({ rpId, challenge, id }) {
    return await generateAuthenticationOptions({
      rpID: rpId, challenge: bytes(challenge), allowCredentials: [{ id }], userVerification: 'required',
    });
  },
  async canonical({ document }) {
    return canonicalize(JSON.parse(document));
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { kind, ...question } = JSON.parse(line);
  let answer;
  try {
    answer = { ok: await answers[kind](question) };
  } catch (error) {
    answer = { refused: String(error.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
