-- A store as the first release kept it (migration 0001): made by its server, worker and commands, dumped with pg_dump
-- after both were killed while a task ran. What later versions make of it: tests/upgrade.test.ts.

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: orrery; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA orrery;

--
-- Name: estimate_bucket(bigint); Type: FUNCTION; Schema: orrery; Owner: -
--

CREATE FUNCTION orrery.estimate_bucket(estimate_ms bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    select (estimate_ms >> greatest(length(ltrim(estimate_ms::bit(64)::text, '0')) - 4, 0))
           << greatest(length(ltrim(estimate_ms::bit(64)::text, '0')) - 4, 0)
  $$;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: api_keys; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    hmac text NOT NULL COLLATE pg_catalog."C",
    scopes text[] NOT NULL,
    zones text[] NOT NULL,
    agents text[] NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    revoked_at bigint NOT NULL
);

--
-- Name: blocks; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.blocks (
    seq bigint NOT NULL,
    count integer NOT NULL,
    epoch bigint NOT NULL,
    now bigint NOT NULL,
    prev text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL COLLATE pg_catalog."C",
    line text NOT NULL
);

--
-- Name: head; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.head (
    only_row boolean DEFAULT true NOT NULL,
    epoch bigint NOT NULL,
    seq bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT head_only_row_check CHECK (only_row)
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

--
-- Name: idempotency_keys; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.idempotency_keys (
    zone text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    body_hash text NOT NULL COLLATE pg_catalog."C"
);

--
-- Name: logs; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.logs (
    task_id text NOT NULL COLLATE pg_catalog."C",
    line bigint NOT NULL,
    attempt integer NOT NULL,
    at bigint NOT NULL,
    stream text NOT NULL COLLATE pg_catalog."C",
    text text NOT NULL
)
WITH (autovacuum_vacuum_insert_scale_factor='0.05');

--
-- Name: migrations; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.migrations (
    number integer NOT NULL,
    name text NOT NULL,
    hash text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

--
-- Name: runs; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.runs (
    id text NOT NULL COLLATE pg_catalog."C",
    zone text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    nodes integer NOT NULL,
    submitted_at bigint NOT NULL,
    submitted_seq bigint NOT NULL,
    outcome text NOT NULL COLLATE pg_catalog."C",
    ended_at bigint NOT NULL
)
WITH (fillfactor='80');

--
-- Name: settings; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.settings (
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL
);

--
-- Name: snapshot_chunks; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.snapshot_chunks (
    seq bigint NOT NULL,
    at integer NOT NULL,
    text text NOT NULL
);

--
-- Name: snapshots; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.snapshots (
    seq bigint NOT NULL,
    epoch bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    state_hash text NOT NULL COLLATE pg_catalog."C"
);

--
-- Name: tasks; Type: TABLE; Schema: orrery; Owner: -
--

CREATE TABLE orrery.tasks (
    id text NOT NULL COLLATE pg_catalog."C",
    zone text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    submitted_seq bigint NOT NULL,
    enqueued_at bigint NOT NULL,
    run_at bigint NOT NULL,
    deadline bigint NOT NULL,
    estimate_ms bigint NOT NULL,
    boost_micros bigint NOT NULL,
    cost_micros bigint NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    seq bigint NOT NULL,
    attempt integer NOT NULL,
    priority smallint NOT NULL,
    priority_class smallint NOT NULL,
    status smallint NOT NULL,
    run_id text COLLATE pg_catalog."C",
    run_node text COLLATE pg_catalog."C",
    executor text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    request_state text NOT NULL COLLATE pg_catalog."C",
    worker text NOT NULL COLLATE pg_catalog."C",
    payload_hash text NOT NULL COLLATE pg_catalog."C",
    result_hash text NOT NULL COLLATE pg_catalog."C",
    error_code text NOT NULL COLLATE pg_catalog."C",
    error_message text NOT NULL,
    settings text NOT NULL,
    payload text NOT NULL,
    result text
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: orrery; Owner: -
--

INSERT INTO orrery.api_keys VALUES
	('01a1dff1-940c-7cc2-86da-8d0320010cf5', 'admin', 'a26b5f308ac3dcf495c29e8212ee90cbd0fdc4d7f31c01eb955941695267baa6', '{submit,read,work,admin,operator}', '{*}', '{*}', 1794758513675, -1, -1),
	('01a1dff1-a8d8-7790-bccd-67d5ca22353a', 'reader', '90cbd02b4cf4dc59b55eb6493a975fb8ebe9bd9938108061fd178f9ef9e16684', '{read}', '{*}', '{*}', 1794758519000, -1, -1);

--
-- Data for Name: blocks; Type: TABLE DATA; Schema: orrery; Owner: -
--

INSERT INTO orrery.blocks VALUES
	(1, 1, 1, 1794758513685, '0000000000000000000000000000000000000000000000000000000000000000', 'e350493666fa3663fec31d2c7787999f8cfbf3658fe213db1d7bde90f6de2b2f', '{"v":1,"epoch":1,"seq":1,"prev":"0000000000000000000000000000000000000000000000000000000000000000","now":1794758513685,"events":[["SchedulerConfigured",{"policyVersion":1,"strategy":"least-loaded","preferLocality":false,"maxQueuePerWorker":0,"keepLostWorkers":1000,"seed":0,"overloadedAtPermille":950,"relievedBelowPermille":800,"order":"hrrn","boostTierMicros":10000,"maxBoostTiers":2,"ageEveryMs":120000,"ageStepMs":60000,"maxWaitMs":600000,"starveBackgroundMs":900000,"starveBatchMs":null,"deadlineLift":2,"costWindowMs":3600000,"costThresholdMicros":null,"fairShare":10,"overLimit":"wait","credits":false,"maxNodes":1000000,"backlogLimit":1000000,"rejectThreshold":null,"reserveAfterMs":30000,"maxBackoffMs":60000,"jitterPermille":250,"keepEndedRuns":100}]],"checks":"28631d50","hash":"e350493666fa3663fec31d2c7787999f8cfbf3658fe213db1d7bde90f6de2b2f"}'),
	(2, 1, 1, 1794758514154, 'e350493666fa3663fec31d2c7787999f8cfbf3658fe213db1d7bde90f6de2b2f', '62a243f26a6f43f0823dd412fadcbd3f5fd60a9a15cd86a57bbae19a31ddfc42', '{"v":1,"epoch":1,"seq":2,"prev":"e350493666fa3663fec31d2c7787999f8cfbf3658fe213db1d7bde90f6de2b2f","now":1794758514154,"events":[["WorkerRegistered",{"id":"keeper","endpoint":"88ebc5c1-dea8-407f-9be6-38c949994268","zone":"default","zones":[],"executors":["default","local"],"capabilities":["type:command","type:echo","type:fail","type:hello","type:noop","type:sleep","type:slow"],"cpuMillicores":2000,"memoryBytes":25274793984,"slots":2}]],"checks":"070aba25","hash":"62a243f26a6f43f0823dd412fadcbd3f5fd60a9a15cd86a57bbae19a31ddfc42"}'),
	(3, 2, 1, 1794758516119, '62a243f26a6f43f0823dd412fadcbd3f5fd60a9a15cd86a57bbae19a31ddfc42', '8edfe92dc57bf3a51c67d2927e817a4b07101e31611ad61bdd2598ff31ce3b01', '{"v":1,"epoch":1,"seq":3,"prev":"62a243f26a6f43f0823dd412fadcbd3f5fd60a9a15cd86a57bbae19a31ddfc42","now":1794758516119,"events":[["TaskSubmitted","01a1dff1-9d95-7644-a900-d578c91398fa","admin","default",["hello","default",0,0,30000,2,["type:hello"],3,1000,0,0],"pending",0,-1,-1,"6bd0ee7972d372ec1f8a3cc44302e5449751305d73c2b69b5a79c62f88a4ca77",0],["TaskAssigned",-1,0,1,0,["OnlyWorkerAvailable"],-1,[]]],"checks":"194f1fe319b06778","hash":"8edfe92dc57bf3a51c67d2927e817a4b07101e31611ad61bdd2598ff31ce3b01"}'),
	(5, 1, 1, 1794758516142, '8edfe92dc57bf3a51c67d2927e817a4b07101e31611ad61bdd2598ff31ce3b01', '4be741dc5cf5a87652ebc633e486ea44bf9edf578e00e3fb96dca1e42150acc9', '{"v":1,"epoch":1,"seq":5,"prev":"8edfe92dc57bf3a51c67d2927e817a4b07101e31611ad61bdd2598ff31ce3b01","now":1794758516142,"events":[["AttemptFinished",-1,0,1,1794758516139,"2fe79b699bc3516090c4858cef9e00da0d4cd4b4a14609ad6df95552af706b9c",42]],"checks":"fc8f195a","hash":"4be741dc5cf5a87652ebc633e486ea44bf9edf578e00e3fb96dca1e42150acc9"}'),
	(6, 2, 1, 1794758516249, '4be741dc5cf5a87652ebc633e486ea44bf9edf578e00e3fb96dca1e42150acc9', 'bd1aadfcaaa8796983563c12cfbee9b5228473d24363eb66806f9fbbf65272e3', '{"v":1,"epoch":1,"seq":6,"prev":"4be741dc5cf5a87652ebc633e486ea44bf9edf578e00e3fb96dca1e42150acc9","now":1794758516249,"events":[["TaskSubmitted","01a1dff1-9e18-7f4b-a00c-6475694e0874","admin","default",["hello","default",0,0,30000,2,["type:hello"],3,1000,0,0],"pending",0,-1,-1,"26149f2189b848d04a959a5ca5efd8a49e08e27a22f801758903b6c578fa8190",0],["TaskAssigned",-1,1,1,0,["OnlyWorkerAvailable"],-1,[]]],"checks":"577a50e4f92b1c07","hash":"bd1aadfcaaa8796983563c12cfbee9b5228473d24363eb66806f9fbbf65272e3"}'),
	(8, 1, 1, 1794758516254, 'bd1aadfcaaa8796983563c12cfbee9b5228473d24363eb66806f9fbbf65272e3', '0436d51c39f964d7449481d98b335b9c1fcba830fe0683ad0adf7e4a28ca40fd', '{"v":1,"epoch":1,"seq":8,"prev":"bd1aadfcaaa8796983563c12cfbee9b5228473d24363eb66806f9fbbf65272e3","now":1794758516254,"events":[["AttemptFinished",-1,1,1,1794758516253,"fb78721cbbe731ea09a75b3be8f622fe52616f79d7000c7d8240391d8492a159",42]],"checks":"e411eaee","hash":"0436d51c39f964d7449481d98b335b9c1fcba830fe0683ad0adf7e4a28ca40fd"}'),
	(9, 2, 1, 1794758516458, '0436d51c39f964d7449481d98b335b9c1fcba830fe0683ad0adf7e4a28ca40fd', '6f7d0da760b65ce1c779df8740de4488f6229c2b2cd5deff1273e44805e55bf7', '{"v":1,"epoch":1,"seq":9,"prev":"0436d51c39f964d7449481d98b335b9c1fcba830fe0683ad0adf7e4a28ca40fd","now":1794758516458,"events":[["TaskSubmitted","01a1dff1-9eea-71aa-855f-a78911c17020","admin","default",["fail","default",0,0,30000,2,["type:fail"],1,1000,0,0],"pending",0,-1,-1,"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",0],["TaskAssigned",-1,2,1,0,["OnlyWorkerAvailable"],-1,[]]],"checks":"2ccedf840792de88","hash":"6f7d0da760b65ce1c779df8740de4488f6229c2b2cd5deff1273e44805e55bf7"}'),
	(11, 2, 1, 1794758516465, '6f7d0da760b65ce1c779df8740de4488f6229c2b2cd5deff1273e44805e55bf7', 'd869632b5bd2b35ea9af61e7c9b9d9925a7920c5029ade1442f1ab8af232789c', '{"v":1,"epoch":1,"seq":11,"prev":"6f7d0da760b65ce1c779df8740de4488f6229c2b2cd5deff1273e44805e55bf7","now":1794758516465,"events":[["AttemptFailed",-1,2,1,1794758516463,"error","it cannot be done",0,true],["TaskFailed",-1,2,"attempts"]],"checks":"0ccada09be638cae","hash":"d869632b5bd2b35ea9af61e7c9b9d9925a7920c5029ade1442f1ab8af232789c"}'),
	(13, 1, 1, 1794758516751, 'd869632b5bd2b35ea9af61e7c9b9d9925a7920c5029ade1442f1ab8af232789c', 'd809b572e0e1d43b0405f384efbadaed9f6daa0cc15b2b422f0b67fbf9c7354e', '{"v":1,"epoch":1,"seq":13,"prev":"d869632b5bd2b35ea9af61e7c9b9d9925a7920c5029ade1442f1ab8af232789c","now":1794758516751,"events":[["TaskSubmitted","01a1dff1-a00f-7d65-8c13-03380ebe367a","admin","default",["hello","nobody",0,0,30000,2,["type:hello"],3,1000,0,0],"pending",0,-1,-1,"20c1f3547ad2fdb56ea1f51ec3efa8c2698da220a7d00be7491550cc1ff59c45",0]],"checks":"da4d0f9d","hash":"d809b572e0e1d43b0405f384efbadaed9f6daa0cc15b2b422f0b67fbf9c7354e"}'),
	(14, 2, 1, 1794758517014, 'd809b572e0e1d43b0405f384efbadaed9f6daa0cc15b2b422f0b67fbf9c7354e', 'fbc1b8b67c401f65a2bf8504661c02d76761a5f05cfef35ad7613228b2cc137b', '{"v":1,"epoch":1,"seq":14,"prev":"d809b572e0e1d43b0405f384efbadaed9f6daa0cc15b2b422f0b67fbf9c7354e","now":1794758517014,"events":[["CancelRequested",-1,3],["TaskCancelled",-1,3]],"checks":"8668d4653b4fbd63","hash":"fbc1b8b67c401f65a2bf8504661c02d76761a5f05cfef35ad7613228b2cc137b"}'),
	(16, 1, 1, 1794758517313, 'fbc1b8b67c401f65a2bf8504661c02d76761a5f05cfef35ad7613228b2cc137b', '556593953bc43ca02a1a81f8352ae72b9d9f714db2d4d52647bd8e93adc3761a', '{"v":1,"epoch":1,"seq":16,"prev":"fbc1b8b67c401f65a2bf8504661c02d76761a5f05cfef35ad7613228b2cc137b","now":1794758517313,"events":[["TaskSubmitted","01a1dff1-a240-7da4-9571-45f09e6f1d22","admin","default",["hello","nobody",0,0,30000,0,["type:hello"],3,1000,0,0],"pending",0,-1,-1,"1b8e8806572f90d1454a4cd5fc156fd7bb8738edfa36a1dc183705244d144b06",0]],"checks":"fba84ea0","hash":"556593953bc43ca02a1a81f8352ae72b9d9f714db2d4d52647bd8e93adc3761a"}'),
	(17, 1, 1, 1794758517710, '556593953bc43ca02a1a81f8352ae72b9d9f714db2d4d52647bd8e93adc3761a', '2e8205d2554e5fdd480c446aabe412a05f55615ac186925c4ea8d782e03765f6', '{"v":1,"epoch":1,"seq":17,"prev":"556593953bc43ca02a1a81f8352ae72b9d9f714db2d4d52647bd8e93adc3761a","now":1794758517710,"events":[["TaskSubmitted","01a1dff1-a3c8-7ab2-9f24-c6d3704fc44f","admin","default",["hello","default",0,0,30000,2,["type:hello"],3,1000,0,0],"pending",0,-1,4102444800000,"df3da8009237fa032035e5a2b8908df3f3a99a4fb58cfcb5d2b6481ce469509b",0]],"checks":"aa1d4f56","hash":"2e8205d2554e5fdd480c446aabe412a05f55615ac186925c4ea8d782e03765f6"}'),
	(18, 1, 1, 1794758517813, '2e8205d2554e5fdd480c446aabe412a05f55615ac186925c4ea8d782e03765f6', '3623a2bf83cce08ab1b95b703b94088153c0b53562c64f5d48f7842527c5f6f4', '{"v":1,"epoch":1,"seq":18,"prev":"2e8205d2554e5fdd480c446aabe412a05f55615ac186925c4ea8d782e03765f6","now":1794758517813,"events":[["LimitConfigured","default","api",3,100,60000]],"checks":"135de18d","hash":"3623a2bf83cce08ab1b95b703b94088153c0b53562c64f5d48f7842527c5f6f4"}'),
	(19, 1, 1, 1794758517828, '3623a2bf83cce08ab1b95b703b94088153c0b53562c64f5d48f7842527c5f6f4', 'fce7c0770912e6b9a6bc7ffda8823977104b542d3e4d6d3ead03ed257ee9e169', '{"v":1,"epoch":1,"seq":19,"prev":"3623a2bf83cce08ab1b95b703b94088153c0b53562c64f5d48f7842527c5f6f4","now":1794758517828,"events":[["AgentConfigured","default","ann",2]],"checks":"798dd0a7","hash":"fce7c0770912e6b9a6bc7ffda8823977104b542d3e4d6d3ead03ed257ee9e169"}'),
	(20, 1, 1, 1794758517842, 'fce7c0770912e6b9a6bc7ffda8823977104b542d3e4d6d3ead03ed257ee9e169', '69eab46928389ad95d8771bd9873b4d1deb7b9b7f3b83f67e8ea4ab91769877c', '{"v":1,"epoch":1,"seq":20,"prev":"fce7c0770912e6b9a6bc7ffda8823977104b542d3e4d6d3ead03ed257ee9e169","now":1794758517842,"events":[["CreditsGranted","default","ann",12500000]],"checks":"a5dd9b78","hash":"69eab46928389ad95d8771bd9873b4d1deb7b9b7f3b83f67e8ea4ab91769877c"}'),
	(21, 1, 1, 1794758517856, '69eab46928389ad95d8771bd9873b4d1deb7b9b7f3b83f67e8ea4ab91769877c', '9a300bf1c901f8cc6b472a74bac4d07568c015afbfaf4c96ba36c05ff7804f07', '{"v":1,"epoch":1,"seq":21,"prev":"69eab46928389ad95d8771bd9873b4d1deb7b9b7f3b83f67e8ea4ab91769877c","now":1794758517856,"events":[["ZoneConfigured","default",7]],"checks":"934f106f","hash":"9a300bf1c901f8cc6b472a74bac4d07568c015afbfaf4c96ba36c05ff7804f07"}'),
	(22, 1, 1, 1794758517866, '9a300bf1c901f8cc6b472a74bac4d07568c015afbfaf4c96ba36c05ff7804f07', 'cf941fb5a02914d42ef6bc4b32dbd33fbe9e365677dd69904a8e0aa0f86da652', '{"v":1,"epoch":1,"seq":22,"prev":"9a300bf1c901f8cc6b472a74bac4d07568c015afbfaf4c96ba36c05ff7804f07","now":1794758517866,"events":[["QueuePaused","default","paused"]],"checks":"081ad199","hash":"cf941fb5a02914d42ef6bc4b32dbd33fbe9e365677dd69904a8e0aa0f86da652"}'),
	(23, 1, 1, 1794758518177, 'cf941fb5a02914d42ef6bc4b32dbd33fbe9e365677dd69904a8e0aa0f86da652', 'f54d78e6cac5f1156db5b2d250bfcab79b0ba30a4c7ac543d0500c112621ecac', '{"v":1,"epoch":1,"seq":23,"prev":"cf941fb5a02914d42ef6bc4b32dbd33fbe9e365677dd69904a8e0aa0f86da652","now":1794758518177,"events":[["TaskSubmitted","01a1dff1-a5a1-7818-b648-5e6f0483a7e8","admin","default",["hello","paused",0,0,30000,2,["type:hello"],3,1000,0,0],"pending",0,-1,-1,"dee5a70fb6f049dd7f99d53368798073f50887c77bb6311c083d44c6a69a4ea6",0]],"checks":"5b8cd692","hash":"f54d78e6cac5f1156db5b2d250bfcab79b0ba30a4c7ac543d0500c112621ecac"}'),
	(24, 1, 1, 1794758518321, 'f54d78e6cac5f1156db5b2d250bfcab79b0ba30a4c7ac543d0500c112621ecac', 'fba746e5a5b89c770a19c9ccc8d1224e3d59eca0230fd4792097480acd5cac2c', '{"v":1,"epoch":1,"seq":24,"prev":"f54d78e6cac5f1156db5b2d250bfcab79b0ba30a4c7ac543d0500c112621ecac","now":1794758518321,"events":[["TaskSubmitted","01a1dff1-a632-7865-a86c-a49d15bbd077","ann","default",["hello","nobody",0,0,30000,2,["type:hello"],3,1000,0,0,["api"]],"pending",0,-1,-1,"b92970da333a6d91b2ee76f9e636c7c0dd71bf5fc834db5230a61ac249400280",0]],"checks":"21d18724","hash":"fba746e5a5b89c770a19c9ccc8d1224e3d59eca0230fd4792097480acd5cac2c"}'),
	(25, 2, 1, 1794758518599, 'fba746e5a5b89c770a19c9ccc8d1224e3d59eca0230fd4792097480acd5cac2c', 'c5e7b5be76cd522f5af6da2c345c25656a9390f38f6d692bbb84068a8a99fafa', '{"v":1,"epoch":1,"seq":25,"prev":"fba746e5a5b89c770a19c9ccc8d1224e3d59eca0230fd4792097480acd5cac2c","now":1794758518599,"events":[["RunSubmitted","eca9f635-e7d2-4464-805f-485a4e340e8b","good","admin","default","continue",{"ids":["first","second"],"spec":[0,0],"needs":[[],[0]],"requests":["787f826735a4fde352a4a329cf4fea6ae75cb693761430fc92a133751fdde560","6a90920a9e330b2039297d1ae3015ffd61a29672b0fbb003bbd46c7d3f87f6bc"],"done":[],"specs":[["hello","default",1000,0,30000,2,["type:hello"],1,1000,0,0]]}],["TaskAssigned",0,0,1,0,["OnlyWorkerAvailable"],-1,[]]],"checks":"8ff1634fa8b044ea","hash":"c5e7b5be76cd522f5af6da2c345c25656a9390f38f6d692bbb84068a8a99fafa"}'),
	(27, 2, 1, 1794758518606, 'c5e7b5be76cd522f5af6da2c345c25656a9390f38f6d692bbb84068a8a99fafa', '4774339cd25a81af991ba6286d294e9782918f4916e6191d41ab6e09cc200bbb', '{"v":1,"epoch":1,"seq":27,"prev":"c5e7b5be76cd522f5af6da2c345c25656a9390f38f6d692bbb84068a8a99fafa","now":1794758518606,"events":[["AttemptFinished",0,0,1,1794758518606,"95590288854c8f431c3617ea3163ad7585f30b2da90904faffa03c15c11b1d5b",43],["TaskAssigned",0,1,1,0,["OnlyWorkerAvailable"],-1,[]]],"checks":"ce1509ab2a9e2388","hash":"4774339cd25a81af991ba6286d294e9782918f4916e6191d41ab6e09cc200bbb"}'),
	(29, 2, 1, 1794758518616, '4774339cd25a81af991ba6286d294e9782918f4916e6191d41ab6e09cc200bbb', '8cc0e3a3104d602ed46abf2b5094a1c6d5267485513b06373532a5384394d24b', '{"v":1,"epoch":1,"seq":29,"prev":"4774339cd25a81af991ba6286d294e9782918f4916e6191d41ab6e09cc200bbb","now":1794758518616,"events":[["AttemptFinished",0,1,1,1794758518615,"ec1eac4d443fa6112bdb529f5d71af9ab39863202d731e49a39c44ba4033d521",44],["RunEnded",0,"completed"]],"checks":"21e0b0d9f1a4ea58","hash":"8cc0e3a3104d602ed46abf2b5094a1c6d5267485513b06373532a5384394d24b"}'),
	(31, 1, 1, 1794758518719, '8cc0e3a3104d602ed46abf2b5094a1c6d5267485513b06373532a5384394d24b', '194ad43d48d40242518bdfd26a996dc123ea6b5b786df742538e2a6f2e9ab520', '{"v":1,"epoch":1,"seq":31,"prev":"8cc0e3a3104d602ed46abf2b5094a1c6d5267485513b06373532a5384394d24b","now":1794758518719,"events":[["RunSubmitted","01a1dff1-a7bf-7f3d-98d4-8b05e06309d5","waits","admin","default","continue",{"ids":["begin","end"],"spec":[0,0],"needs":[[],[0]],"requests":["c13bed09917e5e412210661e313fb81eb25c6addf4c9cee4eaee5dee9824a8df","c13bed09917e5e412210661e313fb81eb25c6addf4c9cee4eaee5dee9824a8df"],"done":[],"specs":[["hello","nobody",1000,0,30000,2,["type:hello"],1,1000,0,0]]}]],"checks":"7635ac9f","hash":"194ad43d48d40242518bdfd26a996dc123ea6b5b786df742538e2a6f2e9ab520"}'),
	(32, 2, 1, 1794758519383, '194ad43d48d40242518bdfd26a996dc123ea6b5b786df742538e2a6f2e9ab520', 'e2fbc0d405a045653aa5c97d3805eb6df47d7d50eec1af03781d1023a26bc980', '{"v":1,"epoch":1,"seq":32,"prev":"194ad43d48d40242518bdfd26a996dc123ea6b5b786df742538e2a6f2e9ab520","now":1794758519383,"events":[["TaskSubmitted","01a1dff1-aa56-7319-a086-4e2288fcc2cd","admin","default",["slow","default",0,0,30000,2,["type:slow"],3,1000,0,0],"pending",0,-1,-1,"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",0],["TaskAssigned",-1,8,1,0,["OnlyWorkerAvailable"],-1,[]]],"checks":"ddc066b2c76a850c","hash":"e2fbc0d405a045653aa5c97d3805eb6df47d7d50eec1af03781d1023a26bc980"}');

--
-- Data for Name: head; Type: TABLE DATA; Schema: orrery; Owner: -
--

INSERT INTO orrery.head VALUES
	(true, 1, 33, 'e2fbc0d405a045653aa5c97d3805eb6df47d7d50eec1af03781d1023a26bc980');

--
-- Data for Name: idempotency_keys; Type: TABLE DATA; Schema: orrery; Owner: -
--

INSERT INTO orrery.idempotency_keys VALUES
	('default', 'admin', 'c9ac2e8c-3d81-4fe5-8753-12532fb85705', '01a1dff1-9d95-7644-a900-d578c91398fa', 'c7ad2377f92fb8ea47d53d1cb3b8bdceb42e0dd94c237457fb4ff80be1b97da1'),
	('default', 'admin', 'order-1', '01a1dff1-9e18-7f4b-a00c-6475694e0874', '33ac312ececa0aab9216f48b7a91556aca554996aa43deb6b62bbfd785da8289'),
	('default', 'admin', '3e270407-7c43-4bfd-9b5e-75317272b413', '01a1dff1-9eea-71aa-855f-a78911c17020', '5128e5f3641704a08ae14c5078df256cf2a716bf6ec7bce31810f4bb17e2137a'),
	('default', 'admin', '4bc1dc78-4dd5-4900-b604-164b94a385b9', '01a1dff1-a00f-7d65-8c13-03380ebe367a', 'e7af2d011f9f0696a8c47ed1c1657d33650f2dde57895ba597a3424071e04165'),
	('default', 'admin', '943c4253-c59f-45f3-993d-f25c7715ff7f', '01a1dff1-a240-7da4-9571-45f09e6f1d22', '46db071baf2a47b10bd20bf2e6d05e7d6f32e64474b743a4e8cdb6bb2181b6b0'),
	('default', 'admin', 'e12fdc76-ae7d-4bd9-a6bb-6ddc839cd20d', '01a1dff1-a3c8-7ab2-9f24-c6d3704fc44f', '1b596c3b1a925add554ed5da15bdd4900c2917cfd8fb307531bb8ae19509acdc'),
	('default', 'admin', '2a80e6d0-1d48-42d2-8ea4-7e17d3be7b8c', '01a1dff1-a5a1-7818-b648-5e6f0483a7e8', 'c59b209d141ea8a04f822d324d13f2299d4aec1a315c2a40308b21a75f742277'),
	('default', 'admin', 'bb5ed2d3-7582-4cc6-989e-660ccb42553e', '01a1dff1-aa56-7319-a086-4e2288fcc2cd', 'eccc03b093b96bb7c7814fd47fcec1c5a9c99ff6b76f1c8b442d87c087227065');

--
-- Data for Name: logs; Type: TABLE DATA; Schema: orrery; Owner: -
--

INSERT INTO orrery.logs VALUES
	('01a1dff1-9d95-7644-a900-d578c91398fa', 1794758516142000, 1, 1794758516140, 'log', 'greeting Zoë'),
	('01a1dff1-9e18-7f4b-a00c-6475694e0874', 1794758516255000, 1, 1794758516253, 'log', 'greeting once'),
	('01a1dff1-9eea-71aa-855f-a78911c17020', 1794758516466000, 1, 1794758516464, 'log', 'Error: it cannot be done
    at file:///tmp/fix/tasks.mjs:3:46
    at Object.run (file:///srv/orrery/dist/worker/handler.js:13:64)
    at TaskAttempt.run (file:///srv/orrery/dist/worker/task-attempt.js:30:34)
    at #run (file:///srv/orrery/dist/worker/worker.js:213:38)
    at #startWaiting (file:///srv/orrery/dist/worker/worker.js:199:27)
    at #assign (file:///srv/orrery/dist/worker/worker.js:172:27)
    at file:///srv/orrery/dist/worker/worker.js:143:68
    at #whenInUse (file:///srv/orrery/dist/worker/worker.js:150:13)
    at Object.assign (file:///srv/orrery/dist/worker/worker.js:143:49)
    at #take (file:///srv/orrery/dist/worker/websocket-transport.js:121:28)'),
	('65e50d5f-101c-8a72-af6c-13780b335445', 1794758518607000, 1, 1794758518606, 'log', 'greeting first'),
	('ef6dd5f1-0f76-8b97-8931-d9d96c4eee5b', 1794758518617000, 1, 1794758518615, 'log', 'greeting second');

--
-- Data for Name: migrations; Type: TABLE DATA; Schema: orrery; Owner: -
--

INSERT INTO orrery.migrations VALUES
	(1, '0001_create_ledger_and_rows', 'a402ba4ccf874f983046c23878cfa7b681ac74484eb6e08b8ae5e18b7f3564b3', '2026-11-15 16:01:53.619146+00');

--
-- Data for Name: runs; Type: TABLE DATA; Schema: orrery; Owner: -
--

INSERT INTO orrery.runs VALUES
	('eca9f635-e7d2-4464-805f-485a4e340e8b', 'default', 'admin', 'good', 2, 1794758518599, 25, 'completed', 1794758518616),
	('01a1dff1-a7bf-7f3d-98d4-8b05e06309d5', 'default', 'admin', 'waits', 2, 1794758518719, 31, '', -1);

--
-- Data for Name: settings; Type: TABLE DATA; Schema: orrery; Owner: -
--

INSERT INTO orrery.settings VALUES
	('key-secret', 'kpGl6iFiw0z6ov6nkyEZlEzJLPXN2E9p_qIhlFCNDaw'),
	('stream-secret', 'cbf294e3-9190-408a-b8a0-8061d9ad6b4c');

--
-- Data for Name: snapshot_chunks; Type: TABLE DATA; Schema: orrery; Owner: -
--

--
-- Data for Name: snapshots; Type: TABLE DATA; Schema: orrery; Owner: -
--

--
-- Data for Name: tasks; Type: TABLE DATA; Schema: orrery; Owner: -
--

INSERT INTO orrery.tasks VALUES
	('01a1dff1-9d95-7644-a900-d578c91398fa', 'default', 'admin', 3, 1794758516119, -1, -1, 30000, 0, 0, 1794758516139, 1794758516142, 5, 1, 2, 1, 2, NULL, NULL, 'default', 'hello', 'pending', 'keeper', '6bd0ee7972d372ec1f8a3cc44302e5449751305d73c2b69b5a79c62f88a4ca77', '2fe79b699bc3516090c4858cef9e00da0d4cd4b4a14609ad6df95552af706b9c', '', '', '{"cpuMillicores":0,"memoryBytes":0,"capabilities":[],"limits":[],"maxAttempts":3,"backoffMs":1000,"timeoutMs":0}', '{"name":"Zoë"}', '{"greeting":"hello Zoë","nul":"a\u0000b"}'),
	('01a1dff1-9e18-7f4b-a00c-6475694e0874', 'default', 'admin', 6, 1794758516249, -1, -1, 30000, 0, 0, 1794758516253, 1794758516254, 8, 1, 2, 1, 2, NULL, NULL, 'default', 'hello', 'pending', 'keeper', '26149f2189b848d04a959a5ca5efd8a49e08e27a22f801758903b6c578fa8190', 'fb78721cbbe731ea09a75b3be8f622fe52616f79d7000c7d8240391d8492a159', '', '', '{"cpuMillicores":0,"memoryBytes":0,"capabilities":[],"limits":[],"maxAttempts":3,"backoffMs":1000,"timeoutMs":0}', '{"name":"once"}', '{"greeting":"hello once","nul":"a\u0000b"}'),
	('01a1dff1-9eea-71aa-855f-a78911c17020', 'default', 'admin', 9, 1794758516458, -1, -1, 30000, 0, 0, 1794758516463, 1794758516465, 12, 1, 2, 1, 3, NULL, NULL, 'default', 'fail', 'pending', 'keeper', '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '', 'error', 'it cannot be done', '{"cpuMillicores":0,"memoryBytes":0,"capabilities":[],"limits":[],"maxAttempts":1,"backoffMs":1000,"timeoutMs":0}', '{}', NULL),
	('01a1dff1-a00f-7d65-8c13-03380ebe367a', 'default', 'admin', 13, 1794758516751, -1, -1, 30000, 0, 0, -1, 1794758517014, 15, 0, 2, 1, 4, NULL, NULL, 'nobody', 'hello', 'pending', '', '20c1f3547ad2fdb56ea1f51ec3efa8c2698da220a7d00be7491550cc1ff59c45', '', '', '', '{"cpuMillicores":0,"memoryBytes":0,"capabilities":[],"limits":[],"maxAttempts":3,"backoffMs":1000,"timeoutMs":0}', '{"name":"cancelled"}', NULL),
	('01a1dff1-a240-7da4-9571-45f09e6f1d22', 'default', 'admin', 16, 1794758517313, -1, -1, 30000, 0, 0, -1, -1, 16, 0, 0, 0, 0, NULL, NULL, 'nobody', 'hello', 'pending', '', '1b8e8806572f90d1454a4cd5fc156fd7bb8738edfa36a1dc183705244d144b06', '', '', '', '{"cpuMillicores":0,"memoryBytes":0,"capabilities":[],"limits":[],"maxAttempts":3,"backoffMs":1000,"timeoutMs":0}', '{"name":"waits"}', NULL),
	('01a1dff1-a3c8-7ab2-9f24-c6d3704fc44f', 'default', 'admin', 17, 1794758517710, 4102444800000, -1, 30000, 0, 0, -1, -1, 17, 0, 2, 1, 0, NULL, NULL, 'default', 'hello', 'pending', '', 'df3da8009237fa032035e5a2b8908df3f3a99a4fb58cfcb5d2b6481ce469509b', '', '', '', '{"cpuMillicores":0,"memoryBytes":0,"capabilities":[],"limits":[],"maxAttempts":3,"backoffMs":1000,"timeoutMs":0}', '{"name":"later"}', NULL),
	('01a1dff1-a5a1-7818-b648-5e6f0483a7e8', 'default', 'admin', 23, 1794758518177, -1, -1, 30000, 0, 0, -1, -1, 23, 0, 2, 1, 0, NULL, NULL, 'paused', 'hello', 'pending', '', 'dee5a70fb6f049dd7f99d53368798073f50887c77bb6311c083d44c6a69a4ea6', '', '', '', '{"cpuMillicores":0,"memoryBytes":0,"capabilities":[],"limits":[],"maxAttempts":3,"backoffMs":1000,"timeoutMs":0}', '{"name":"paused"}', NULL),
	('01a1dff1-a632-7865-a86c-a49d15bbd077', 'default', 'ann', 24, 1794758518321, -1, -1, 30000, 0, 0, -1, -1, 24, 0, 2, 1, 0, NULL, NULL, 'nobody', 'hello', 'pending', '', 'b92970da333a6d91b2ee76f9e636c7c0dd71bf5fc834db5230a61ac249400280', '', '', '', '{"cpuMillicores":0,"memoryBytes":0,"capabilities":[],"limits":["api"],"maxAttempts":3,"backoffMs":1000,"timeoutMs":0}', '{"name":"ann"}', NULL),
	('65e50d5f-101c-8a72-af6c-13780b335445', 'default', 'admin', 25, 1794758518599, -1, -1, 30000, 0, 0, 1794758518606, 1794758518606, 27, 1, 2, 1, 2, 'eca9f635-e7d2-4464-805f-485a4e340e8b', 'first', 'default', 'hello', 'pending', 'keeper', '787f826735a4fde352a4a329cf4fea6ae75cb693761430fc92a133751fdde560', '95590288854c8f431c3617ea3163ad7585f30b2da90904faffa03c15c11b1d5b', '', '', '{"needs":[]}', '{"name":"first"}', '{"greeting":"hello first","nul":"a\u0000b"}'),
	('ef6dd5f1-0f76-8b97-8931-d9d96c4eee5b', 'default', 'admin', 25, 1794758518599, -1, -1, 30000, 0, 0, 1794758518615, 1794758518616, 29, 1, 2, 1, 2, 'eca9f635-e7d2-4464-805f-485a4e340e8b', 'second', 'default', 'hello', 'pending', 'keeper', '6a90920a9e330b2039297d1ae3015ffd61a29672b0fbb003bbd46c7d3f87f6bc', 'ec1eac4d443fa6112bdb529f5d71af9ab39863202d731e49a39c44ba4033d521', '', '', '{"needs":["first"]}', '{"name":"second"}', '{"greeting":"hello second","nul":"a\u0000b"}'),
	('1acda6dc-a109-874b-bc1c-5833ba971bba', 'default', 'admin', 31, 1794758518719, -1, -1, 30000, 0, 0, -1, -1, 31, 0, 2, 1, 0, '01a1dff1-a7bf-7f3d-98d4-8b05e06309d5', 'begin', 'nobody', 'hello', 'pending', '', 'c13bed09917e5e412210661e313fb81eb25c6addf4c9cee4eaee5dee9824a8df', '', '', '', '{"needs":[]}', '{}', NULL),
	('21e9627d-69f1-8d89-89af-dcdce37da33f', 'default', 'admin', 31, 1794758518719, -1, -1, 30000, 0, 0, -1, -1, 31, 0, 2, 1, 0, '01a1dff1-a7bf-7f3d-98d4-8b05e06309d5', 'end', 'nobody', 'hello', 'pending', '', 'c13bed09917e5e412210661e313fb81eb25c6addf4c9cee4eaee5dee9824a8df', '', '', '', '{"needs":["begin"]}', '{}', NULL),
	('01a1dff1-aa56-7319-a086-4e2288fcc2cd', 'default', 'admin', 32, 1794758519383, -1, -1, 30000, 0, 0, -1, -1, 32, 0, 2, 1, 0, NULL, NULL, 'default', 'slow', 'pending', '', '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '', '', '', '{"cpuMillicores":0,"memoryBytes":0,"capabilities":[],"limits":[],"maxAttempts":3,"backoffMs":1000,"timeoutMs":0}', '{}', NULL);

--
-- Name: api_keys api_keys_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);

--
-- Name: blocks blocks_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.blocks
    ADD CONSTRAINT blocks_pkey PRIMARY KEY (seq);

--
-- Name: head head_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.head
    ADD CONSTRAINT head_pkey PRIMARY KEY (only_row);

--
-- Name: idempotency_keys idempotency_keys_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (zone, agent, key);

--
-- Name: logs logs_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.logs
    ADD CONSTRAINT logs_pkey PRIMARY KEY (task_id, line);

--
-- Name: migrations migrations_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);

--
-- Name: runs runs_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);

--
-- Name: settings settings_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (name);

--
-- Name: snapshot_chunks snapshot_chunks_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.snapshot_chunks
    ADD CONSTRAINT snapshot_chunks_pkey PRIMARY KEY (seq, at);

--
-- Name: snapshots snapshots_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.snapshots
    ADD CONSTRAINT snapshots_pkey PRIMARY KEY (seq);

--
-- Name: tasks tasks_pkey; Type: CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);

--
-- Name: idempotency_keys_by_task; Type: INDEX; Schema: orrery; Owner: -
--

CREATE INDEX idempotency_keys_by_task ON orrery.idempotency_keys USING btree (task_id);

--
-- Name: logs_by_time; Type: INDEX; Schema: orrery; Owner: -
--

CREATE INDEX logs_by_time ON orrery.logs USING brin (at);

--
-- Name: runs_by_agent; Type: INDEX; Schema: orrery; Owner: -
--

CREATE INDEX runs_by_agent ON orrery.runs USING btree (zone, agent, submitted_seq DESC, id DESC);

--
-- Name: runs_by_end; Type: INDEX; Schema: orrery; Owner: -
--

CREATE INDEX runs_by_end ON orrery.runs USING btree (ended_at) WHERE (ended_at >= 0);

--
-- Name: runs_by_zone; Type: INDEX; Schema: orrery; Owner: -
--

CREATE INDEX runs_by_zone ON orrery.runs USING btree (zone, submitted_seq DESC, id DESC);

--
-- Name: tasks_by_agent; Type: INDEX; Schema: orrery; Owner: -
--

CREATE INDEX tasks_by_agent ON orrery.tasks USING btree (zone, agent, status, submitted_seq DESC, id DESC);

--
-- Name: tasks_by_end; Type: INDEX; Schema: orrery; Owner: -
--

CREATE INDEX tasks_by_end ON orrery.tasks USING btree (ended_at) WHERE (ended_at >= 0);

--
-- Name: tasks_by_run; Type: INDEX; Schema: orrery; Owner: -
--

CREATE INDEX tasks_by_run ON orrery.tasks USING btree (run_id, submitted_seq DESC, id DESC) WHERE (run_id IS NOT NULL);

--
-- Name: tasks_by_zone; Type: INDEX; Schema: orrery; Owner: -
--

CREATE INDEX tasks_by_zone ON orrery.tasks USING btree (zone, status, submitted_seq DESC, id DESC);

--
-- Name: tasks_waiting; Type: INDEX; Schema: orrery; Owner: -
--

CREATE INDEX tasks_waiting ON orrery.tasks USING btree (priority_class, orrery.estimate_bucket(estimate_ms), GREATEST(enqueued_at, run_at), id) WHERE ((status = 0) AND (run_id IS NULL));

--
-- Name: snapshot_chunks snapshot_chunks_seq_fkey; Type: FK CONSTRAINT; Schema: orrery; Owner: -
--

ALTER TABLE ONLY orrery.snapshot_chunks
    ADD CONSTRAINT snapshot_chunks_seq_fkey FOREIGN KEY (seq) REFERENCES orrery.snapshots(seq) ON DELETE CASCADE;

--
-- PostgreSQL database dump complete
--

