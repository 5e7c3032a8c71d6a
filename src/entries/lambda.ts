/** Serves an agent on AWS Lambda. Works without packages of AWS. */

export {
  type LambdaContext,
  type LambdaOptions,
  type LambdaRequest,
  type LambdaRuntime,
  type LambdaStream,
  lambdaHandler,
} from '../integrations/web/lambda.ts'
