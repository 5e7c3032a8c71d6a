import { defined, type Json } from '../../base/json.ts'
import {
  bareTaskPushFormat,
  type CallerVariants,
  type FileBytes,
  type PeerForm,
  type ServerDialect,
} from '../dialect.ts'
import { withWireNames } from '../error-texts.ts'
import { legacyFacts } from '../legacy-codec.ts'
import { encodeTask as encodeTaskWithKind } from '../v0.3/encode.ts'
import { encodeError, encodeHttpError } from '../v0.3/errors.ts'
import { encodeCard } from './card.ts'
import { encodeEvent, encodeResult, encodeTask } from './encode.ts'
import { grpc, operations, restServerBinding, serverMethods } from './methods.ts'
import { evidenceIn, fileBytesHeader, fileBytesKey, formOfClient, majorityForm } from './peer-form.ts'
import { decodeRequest, decodeRequestStrictly } from './requests.ts'
import { fromPeerForm, isBase64Text, isReadableBase64, toPeerForm } from './translate-form.ts'

export interface ProtoDialectOptions {
  /** Rejects requests that deviate from the specification. */
  readonly strict?: boolean
  /** How all callers write and read the bytes of files. By default, each caller is recognised. */
  readonly fileBytes?: FileBytes | undefined
  /** Sends ProtoJSON to webhooks too, as the rest of the dialect does. */
  readonly protoJsonWebhooks?: boolean | undefined
}

/** The dialect for callers about which nothing is known, with a variant for each form that callers read. */
export function createProtoDialect(options: ProtoDialectOptions = {}): ServerDialect {
  const { strict = false, fileBytes: pinned, protoJsonWebhooks = false } = options
  const fallback: PeerForm = { ...majorityForm, ...defined({ fileBytes: pinned }) }
  const variants = new Map<string, ServerDialect>()

  const forCaller: CallerVariants['forCaller'] = ({ userAgent, params, learned = {} }) => {
    const software = formOfClient(userAgent)
    const evidence = evidenceIn(params, software.fileBytes === 'base64' ? isReadableBase64 : isBase64Text)
    const { declared, fileBytes: sent, hasNewMembers: sentNewMembers } = evidence
    const proven = sent === 'raw' ? sent : undefined
    const form = {
      fileBytes: pinned ?? declared ?? proven ?? software.fileBytes ?? learned.fileBytes ?? fallback.fileBytes,
      hasNewMembers: software.hasNewMembers || sentNewMembers || learned.hasNewMembers || false,
    }
    return {
      dialect: variantOf(form),
      learned: defined({ fileBytes: proven, hasNewMembers: sentNewMembers ? true : undefined }),
    }
  }

  /** Each variant exists once: readers of one variant share encoded events. */
  function variantOf(form: PeerForm): ServerDialect {
    const name = `${form.fileBytes}${form.hasNewMembers ? ', new members' : ''}`
    const variant = variants.get(name) ?? createVariant(form, name)
    variants.set(name, variant)
    return variant
  }

  function createVariant(form: PeerForm, name: string): ServerDialect {
    return {
      ...base,
      decodeRequest: decoderFor(form, strict ? decodeRequestStrictly : decodeRequest),
      encodeResult: encoderFor(form),
      encodeEvent: (event) => encodeEvent(event).map((wire) => toPeerForm(wire, form)),
      ...defined({
        pushFormat: protoJsonWebhooks
          ? bareTaskPushFormat((task) => toPeerForm(encodeTask(task), fallback))
          : undefined,
      }),
      headers: { [fileBytesHeader]: form.fileBytes },
      callers: { variant: name, forCaller },
    }
  }

  return variantOf(fallback)
}

const wireNames = {
  'configuration.push': 'configuration.pushNotification',
  pushConfig: 'config.pushNotificationConfig',
  'message.parts': 'message.content',
  'header A2A-Extensions': 'header X-A2A-Extensions or in message.extensions',
}

/** The dialect as the newest proto of 0.3 describes it. */
const base: ServerDialect = {
  name: 'v0.3-proto',
  version: '0.3',
  bindings: ['HTTP+JSON', 'GRPC'],
  methods: serverMethods,
  grpc,
  operations,
  namesExtensionsInMessages: true,
  decodeRequest,
  encodeResult,
  encodeEvent,
  isReaderIndependent: true,
  ...legacyFacts,
  // SDKs parse the body of a webhook as the JSON of 0.3, whatever the binding of its registration.
  pushFormat: bareTaskPushFormat(encodeTaskWithKind),
  ...withWireNames(wireNames, { encodeError, encodeHttpError }),
  rest: restServerBinding,
  encodeCard,
}

function decoderFor(form: PeerForm, decode: ServerDialect['decodeRequest']): ServerDialect['decodeRequest'] {
  const read = (params: unknown) => fromPeerForm(params, form, [fileBytesKey])
  return {
    ...decode,
    sendMessage: (params) => decode.sendMessage(read(params)),
    streamMessage: (params) => decode.streamMessage(read(params)),
  }
}

function encoderFor(form: PeerForm): ServerDialect['encodeResult'] {
  const write = <T extends Json>(wire: T) => toPeerForm(wire, form)
  return {
    ...encodeResult,
    sendMessage: (outcome) => write(encodeResult.sendMessage(outcome)),
    getTask: (task) => write(encodeResult.getTask(task)),
    listTasks: (page) => write(encodeResult.listTasks(page)),
    cancelTask: (task) => write(encodeResult.cancelTask(task)),
  }
}

export const v0_3Proto = /* @__PURE__ */ createProtoDialect()

/** Rejects requests that deviate from the specification. */
export const v0_3ProtoStrict = /* @__PURE__ */ createProtoDialect({ strict: true })
