import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A certificate and its key. */
export interface CertificateAndKey {
  readonly key: string
  readonly cert: string
}

export interface Authority extends CertificateAndKey {
  readonly privateKey: KeyObject
  readonly name: Buffer
}

export interface CertificateOptions {
  readonly commonName?: string
  readonly organization?: string
  readonly dns?: readonly string[]
  readonly uris?: readonly string[]
  /** The end of its validity, as `YYMMDD` or `YYMMDDhhmmss`. */
  readonly validUntil?: string
  /** Defaults to a self-signed certificate. */
  readonly issuer?: Authority
}

/** A self-signed certificate for localhost, which no client trusts by default. */
export function selfSigned(): CertificateAndKey {
  return createCertificate({ commonName: 'localhost' })
}

/** Encodes the parts of X.509 (RFC 5280) that the tests need. */
export function createCertificate(options: CertificateOptions): Authority {
  const { commonName = 'localhost', organization, dns = [], uris = [], validUntil = '491231', issuer } = options
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02)) // ecdsa-with-SHA256
  const name = sequence(
    attribute(0x03, commonName),
    ...(organization === undefined ? [] : [attribute(0x0a, organization)]),
  )
  const validity = sequence(time('200101'), time(validUntil))
  const alternatives = [
    ...dns.map((name) => der(0x82, Buffer.from(name))),
    ...uris.map((uri) => der(0x86, Buffer.from(uri))),
  ]
  const extensions = [
    ...(issuer ? [] : [extension(0x13, sequence(der(0x01, Buffer.of(0xff))))]), // an authority
    ...(alternatives.length > 0 ? [extension(0x11, sequence(...alternatives))] : []),
  ]
  const content = sequence(
    der(0xa0, der(0x02, Buffer.of(2))), // version 3
    der(0x02, Buffer.of(1)), // serial number
    algorithm,
    issuer?.name ?? name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length > 0 ? [der(0xa3, sequence(...extensions))] : []),
  )
  const signed = sign('sha256', content, issuer?.privateKey ?? privateKey)
  const signature = der(0x03, Buffer.concat([Buffer.of(0), signed]))
  const base64 = sequence(content, algorithm, signature).toString('base64').replace(/.{64}/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    privateKey,
    name,
  }
}

function attribute(kind: number, value: string): Buffer {
  return der(0x31, sequence(oid(0x55, 0x04, kind), der(0x0c, Buffer.from(value))))
}

function extension(kind: number, content: Buffer): Buffer {
  return sequence(oid(0x55, 0x1d, kind), der(0x04, content))
}

function time(moment: string): Buffer {
  return der(0x17, Buffer.from(`${moment.padEnd(12, '0')}Z`))
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

function sequence(...items: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(items))
}

function oid(...bytes: readonly number[]): Buffer {
  return der(0x06, Buffer.from(bytes))
}
