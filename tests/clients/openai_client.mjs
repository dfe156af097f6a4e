// Asks the server what the test wants to know through the openai package and prints it as one line of JSON.
//   node openai_client.mjs BASE_URL KEY
import OpenAI from 'openai';

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });
const messages = [{ role: 'user', content: 'What is the capital of France?' }];
const sure = { model: 'm', messages, temperature: 0, max_tokens: 12 };

async function caught(promise) {
  try {
    await promise;
  } catch (error) {
    return { kind: error.constructor.name, status: error.status, param: error.param, code: error.code };
  }
  return null;
}

const out = {};
const whole = await client.chat.completions.create(sure);
out.whole = whole.choices[0].message.content;
out.usage = whole.usage;

out.streamed = '';
const stream = await client.chat.completions.create({ ...sure, stream: true, stream_options: { include_usage: true } });
for await (const chunk of stream) {
  out.streamed += chunk.choices[0]?.delta?.content ?? '';
  out.streamedUsage = chunk.usage ?? null;
}

const helper = client.chat.completions.stream(sure);
out.helper = await helper.finalContent();

out.completion = (await client.completions.create({ model: 'm', prompt: 'The capital of France is', max_tokens: 4, temperature: 0 })).choices[0].text;
const base64 = await client.embeddings.create({ model: 'm', input: 'a cat' }); // asks for base64 and unpacks it itself
const floats = await client.embeddings.create({ model: 'm', input: 'a cat', encoding_format: 'float' });
out.embedding = base64.data[0].embedding;
out.floats = floats.data[0].embedding;
out.models = [];
for await (const model of client.models.list()) out.models.push(model.id);

const response = await client.responses.create({ model: 'm', input: messages[0].content, temperature: 0, max_output_tokens: 12 });
out.response = response.output_text;
out.responseEvents = [];
for await (const event of await client.responses.create({ model: 'm', input: 'Hi', max_output_tokens: 3, stream: true })) {
  out.responseEvents.push(event.type);
}

const parameters = { type: 'object', properties: { city: { type: 'string', maxLength: 30 } }, required: ['city'], additionalProperties: false };
const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }];
const runner = client.chat.completions.stream({ ...sure, max_tokens: 120, tools, tool_choice: 'required', parallel_tool_calls: false });
out.call = (await runner.finalMessage()).tool_calls[0].function;
const json_schema = { name: 'place', strict: true, schema: parameters };
out.place = (await client.chat.completions.parse({ ...sure, max_tokens: 120, response_format: { type: 'json_schema', json_schema } })).choices[0].message.parsed;

out.badRequest = await caught(client.chat.completions.create({ ...sure, temperature: -1 }));
out.notFound = await caught(client.chat.completions.create({ ...sure, model: 'nobody' }));
out.unauthorized = await caught(new OpenAI({ baseURL, apiKey: 'nonsense', maxRetries: 0 }).models.list());

const left = await client.chat.completions.create({ ...sure, max_tokens: 3000, stream: true });
for await (const chunk of left) break; // aborts the request
console.log(JSON.stringify(out));
