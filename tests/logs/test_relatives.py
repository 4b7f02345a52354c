"""What a run of each framework may also have written: other versions, other tasks, odd ends."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from grpo_cli.errors import InputError, UsageError
from grpo_cli.logs.files.source import find
from grpo_cli.logs.layouts.reading import Asked
from grpo_cli.logs.opening import Selection, open_log


def jsonl(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def parquet(path, *records):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(records)), path)
    return path


def opened(*paths, group_size=None, on_bad_line="error", steps=None, roles=(), **asked):
    selection = Selection(group_size=group_size, on_bad_line=on_bad_line, steps=steps)
    return open_log(find([str(path) for path in paths]), Asked(**asked), selection, roles=roles)


def groups(log):
    found: dict[int, list] = {}
    for group, reward in log.frame.select("group", "reward_0").iter_rows():
        found.setdefault(group, []).append(reward)
    return list(found.values())


def reward(log):
    return [str(field) for field, _ in log.reading.rewards]


# TRL


def trl_row(step=1, prompt="a", **more):
    return {"step": step, "prompt": prompt, "completion": "c", **more, "advantage": 0.0}


def test_trl_chat_prompts_are_keys(tmp_path):
    chats = [[{"role": "user", "content": text}] for text in ("a", "b")]
    path = parquet(tmp_path / "x.parquet", *(trl_row(prompt=chat, f=float(i)) for chat in chats for i in range(2)))
    log = opened(path)
    assert (log.reading.layout.name, groups(log)) == ("trl", [[0.0, 1.0], [0.0, 1.0]])


def test_trl_with_several_reward_functions_asks_and_shows_the_options(tmp_path):
    path = parquet(tmp_path / "x.parquet", trl_row(acc=1.0, fmt=0.5, n_chars=3), trl_row(acc=0.0, fmt=None, n_chars=4))
    with pytest.raises(InputError, match=r"2 fields may be rewards \(acc, fmt\)") as error:
        opened(path)
    assert "-r acc=1 -r fmt=1" in error.value.hint
    assert "n_chars" not in error.value.hint


def test_trl_where_a_function_scores_nothing_in_the_first_file_asks_too(tmp_path):
    rows = [trl_row(acc=1.0, maths=None), trl_row(acc=0.0, maths=None)]
    with pytest.raises(InputError, match="acc, maths"):
        opened(jsonl(tmp_path / "x.jsonl", *rows))


def test_trl_reward_functions_called_like_totals_are_not_taken_for_one(tmp_path):
    path = parquet(tmp_path / "x.parquet", trl_row(accuracy=1.0, format=0.5), trl_row(accuracy=0.0, format=0.0))
    with pytest.raises(InputError, match="accuracy, format"):
        opened(path)


def test_trl_a_function_that_comes_later_is_seen(tmp_path):
    for step in range(1, 40):
        more = {"late": 1.0} if step == 20 else {}
        parquet(
            tmp_path / "d" / f"completions_{step:05d}.parquet",
            trl_row(step, acc=1.0, **more),
            trl_row(step, acc=0.0, **more),
        )
    with pytest.raises(InputError, match="late stands among the reward functions' columns"):
        opened(tmp_path / "d")
    assert len(groups(opened(tmp_path / "d", reward=["acc"]))) == 39


def test_trl_of_2025_with_a_total_is_plain(tmp_path):
    rows = [{"step": "1", "prompt": "a", "completion": "c", "reward": value} for value in (1.0, 0.0)]
    log = opened(jsonl(tmp_path / "x.jsonl", *rows))
    assert (log.reading.layout.name, reward(log), groups(log)) == ("plain", ["reward"], [[1.0, 0.0]])


def test_trl_files_that_repeat_a_buffer_are_noted(tmp_path):
    rows = [trl_row(prompt=p, f=float(i), completion=f"{p}{i}") for p in "ab" for i in range(2)]
    for step in (1, 2):
        parquet(tmp_path / "d" / f"completions_{step:05d}.parquet", *({**row, "step": step} for row in rows))
    assert any("hold the same 4 rollouts with another step" in note for note in opened(tmp_path / "d").notes)


def test_equal_rewards_of_other_completions_are_no_copy(tmp_path):
    for step in (1, 2):
        rows = [{**trl_row(step, f=float(i)), "completion": f"{step}-{i}"} for i in range(2)]
        parquet(tmp_path / "d" / f"completions_{step:05d}.parquet", *rows)
    assert not opened(tmp_path / "d").notes


# verl


def verl_row(text="a", score=1.0, **more):
    return {"input": text, "output": "o", "score": score, "step": 1, **more}


def test_verl_v1_groups_by_uid_without_its_last_two_parts(tmp_path):
    rows = [verl_row(uid=f"{g}_x_{r}_0", score=float(r)) for g in ("u-1", "u-2") for r in range(3)]
    log = opened(jsonl(tmp_path / "1.jsonl", *rows))
    assert log.reading.key_names == ["uid[:-2]"]
    assert groups(log) == [[0.0, 1.0, 2.0]] * 2
    assert log.groups.named["key"].to_list() == ["u-1_x", "u-2_x"]


def test_verl_v1_a_rollout_of_several_outputs_has_the_reward_of_the_last(tmp_path):
    outputs = [("g_0_0", 0.25), ("g_0_10", 1.0), ("g_0_9", 0.5), ("g_1_0", 0.0)]
    log = opened(jsonl(tmp_path / "1.jsonl", *(verl_row(uid=uid, score=score) for uid, score in outputs)))
    assert groups(log) == [[1.0, 1.0, 1.0, 0.0]]
    assert log.frame["rollout"].to_list() == [0, 0, 0, 1]


def test_a_uid_that_names_the_group_is_taken_as_it_is(tmp_path):
    log = opened(jsonl(tmp_path / "1.jsonl", *(verl_row(uid=uid) for uid in ("a-b", "a-b", "c-d", "c-d"))))
    assert (log.reading.key_names, len(groups(log))) == (["uid"], 2)


def test_verl_scores_as_text_and_the_total_beside_a_raw_score(tmp_path):
    text = opened(jsonl(tmp_path / "1.jsonl", verl_row(score="0.0"), verl_row(score="1.0")))
    assert groups(text) == [[0.0, 1.0]]
    dapo = opened(jsonl(tmp_path / "2.jsonl", *(verl_row(overlong_reward=-0.5, score=s) for s in (1.0, 0.0))))
    assert reward(dapo) == ["score", "overlong_reward"]
    total = opened(jsonl(tmp_path / "3.jsonl", *(verl_row(reward=r, score=0.0) for r in (1.0, -1.0))))
    assert (reward(total), groups(total)) == (["reward"], [[1.0, -1.0]])


def test_verl_training_beside_validation(tmp_path):
    jsonl(tmp_path / "run" / "rollout" / "1.jsonl", verl_row(), verl_row(score=0.0))
    jsonl(tmp_path / "run" / "val_generations" / "1.jsonl", verl_row(), verl_row(), verl_row(score=0.5))
    log = opened(tmp_path / "run")
    assert (log.reading.split, groups(log)) == ("train", [[1.0, 0.0]])
    assert any("1 eval file left out" in note for note in log.notes)
    assert groups(opened(tmp_path / "run", split="eval")) == [[1.0, 1.0, 0.5]]
    both = opened(tmp_path / "run", split="all")
    assert groups(both) == [[1.0, 0.0], [1.0, 1.0, 0.5]]
    assert both.frame["batch"].to_list() == [0, 0, 1, 1, 1]
    assert opened(tmp_path / "run" / "val_generations").reading.split == "eval"


# tables


def swift_line(step, prompts, **columns):
    size = len(prompts)
    return {"step": [step] * size, "prompt": prompts, "completion": ["c"] * size, **columns, "advantages": [0.5] * size}


def test_ms_swift_lines_are_tables_and_plain_names_of_columns_do(tmp_path):
    path = jsonl(
        tmp_path / "completions.jsonl", swift_line("1", ["a", "a", "b"], acc=[1.0, 0.0, 1.0], fmt=[0.5, 0.5, 0.0])
    )
    with pytest.raises(InputError, match=r"acc\[\], fmt\[\]"):
        opened(path)
    log = opened(path, reward=["acc", "fmt=0.5"])
    assert groups(log) == [[1.0, 0.0], [1.0]]
    assert log.frame["reward_1"].to_list() == [0.5, 0.5, 0.0]


def test_ms_swift_of_megatron_with_nan_and_a_short_last_line(tmp_path):
    first = swift_line(1, ["a", "a"], acc=[1.0, float("nan")])
    lines = [{("gen_step" if name == "step" else name): value for name, value in line.items()}
             for line in (first, swift_line(2, ["a"], acc=[0.5]))]  # fmt: skip
    log = opened(jsonl(tmp_path / "completions.jsonl", *lines))
    assert groups(log) == [[1.0, None], [0.5]]
    assert log.missing == {"acc[]": {"nan": 1}}


def test_lists_of_unlike_length_name_line_and_fields(tmp_path):
    good = swift_line("1", ["a", "a"], acc=[1.0, 0.0])
    path = jsonl(tmp_path / "completions.jsonl", *[good] * 40, {**good, "acc": [1.0]})
    with pytest.raises(InputError, match=r"completions.jsonl:41: acc\[\] has 1 elements, and prompt\[\] has 2"):
        opened(path)


def test_roll_without_ids_goes_by_prompt_and_the_step_of_the_name(tmp_path):
    line = {"prompt": ["a", "a", "b", "b"], "responses": list("wxyz"), "scores": [1.0, 0.0, 0.0, 0.0]}
    log = opened(jsonl(tmp_path / "rollout_dump_data.step_7.jsonl", line))
    assert (log.reading.key_names, groups(log)) == (["prompt[]"], [[1.0, 0.0], [0.0, 0.0]])
    assert log.groups.named["step"].to_list() == [7, 7]


# NeMo-RL


def nemo_rl_row(idx, reward, prompt=None, **more):
    tokens = {} if prompt is None else {"token_ids": [[*prompt, 7, 8]], "token_loss_mask": [[0] * len(prompt) + [1, 1]]}
    return {"content": ["x"], "rewards": [reward], **tokens, **more, "idx": idx}


def test_nemo_rl_takes_the_group_size_from_the_prompts_or_asks(tmp_path):
    rows = [nemo_rl_row(at, float(at % 2), [1, 2, at // 3]) for at in range(9)]
    log = opened(jsonl(tmp_path / "train_data_step4.jsonl", *rows))
    assert (log.reading.key_names, [len(group) for group in groups(log)]) == (["idx//3"], [3, 3, 3])
    alike = jsonl(tmp_path / "train_data_step5.jsonl", *(nemo_rl_row(at, 1.0, [1, 2]) for at in range(8)))
    with pytest.raises(InputError, match="nothing tells how many make a group") as error:
        opened(alike)
    assert "--group-size N" in error.value.hint
    assert [len(group) for group in groups(opened(alike, group_size=4))] == [4, 4]


def test_nemo_rl_uneven_runs_tell_nothing(tmp_path):
    prompts = [[1], [1], [1], [2], [2], [3], [3], [3]]
    path = jsonl(
        tmp_path / "train_data_step4.jsonl", *(nemo_rl_row(at, 1.0, prompt) for at, prompt in enumerate(prompts))
    )
    with pytest.raises(InputError, match="nothing tells"):
        opened(path)


def test_nemo_rl_prefers_filtered_rewards_and_training_files(tmp_path):
    rows = [nemo_rl_row(at, 9.0, [at // 2], filtered_rewards=[float(at)]) for at in range(4)]
    jsonl(tmp_path / "run" / "train_data_step1.jsonl", *rows)
    jsonl(tmp_path / "run" / "val_data_step1.jsonl", *(nemo_rl_row(at, 0.0, [at // 2]) for at in range(4)))
    log = opened(tmp_path / "run")
    assert (log.reading.split, groups(log)) == ("train", [[0.0, 1.0], [2.0, 3.0]])


# records that hold groups


def test_atropos_empty_groups_and_per_token_advantages(tmp_path):
    def line(*scores):
        n = len(scores)
        return {
            "tokens": [[1, 2]] * n,
            "masks": [[-100, 2]] * n,
            "scores": list(scores),
            "advantages": [[0.0, 0.25]] * n,
        }

    path = jsonl(tmp_path / "groups.jsonl", line(1, 0.5), line(), line(0.0), {**line(1.0, 0), "advantages": None})
    log = opened(path, roles=("logged",))
    assert groups(log) == [[1.0, 0.5], [0.0], [1.0, 0.0]]
    assert log.frame["logged"].to_list() == [0.25, 0.25, 0.25, None, None]
    assert log.groups.named["key"].to_list() == ["1", "3", "4"]


def test_atropos_files_keep_their_records_apart(tmp_path):
    line = {"tokens": [[1], [2]], "masks": [[1], [1]], "scores": [1.0, 0.0]}
    for name in ("a", "b"):
        jsonl(tmp_path / "d" / f"{name}.jsonl", line)
    assert groups(opened(tmp_path / "d")) == [[1.0, 0.0]] * 2


def test_art_jsonl_without_a_final_newline_with_a_group_whose_rollouts_all_failed(tmp_path):
    def line(*rewards):
        return json.dumps({"trajectories": [{"reward": r, "metrics": {}, "messages_and_choices": []} for r in rewards]})

    path = tmp_path / "trajectories" / "val" / "0012.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join([line(1.0, 0.0), line(), line(0.5)]))
    log = opened(path)
    assert (log.reading.split, groups(log)) == ("eval", [[1.0, 0.0], [0.5]])
    assert log.groups.named["step"].to_list() == [12, 12]


def test_verifiers_v1_sums_whatever_each_trace_is_scored_by(tmp_path):
    def line(group, rewards, **more):
        return {
            "env": {"id": "e"},
            "task": {"key": "t"},
            "group": {"id": group},
            "traces": [{"rewards": r} for r in rewards],
            **more,
        }

    def score(value, weight):
        return {"score": value, "weight": weight}

    path = jsonl(
        tmp_path / "step_9" / "traces.jsonl",
        line("g1", [{"a": score(1.0, 0.5), "b": score(2.0, 1.0)}]),
        line("g1", [{"other": score(1.0, 3.0)}]),
        line("g1", [], ok=False),
        line("g2", [{}], run={"work": {"step": 9}}),
    )
    log = opened(path, step="path")
    assert groups(log) == [[2.5, 3.0], [None]]
    assert log.groups.named["step"].to_list() == [9, 9]


def test_prime_rl_effective_traces_repeat_all(tmp_path):
    line = {"env": {"id": "e"}, "group": {"id": "g"}, "traces": [{"rewards": {"a": {"score": 1.0, "weight": 1.0}}}]}
    for split in ("train", "eval"):
        for part in ("all", "effective"):
            jsonl(
                tmp_path / "rollouts" / "step_1" / split / part / "traces.jsonl", *[line] * (3 if part == "all" else 2)
            )
    log = opened(tmp_path / "rollouts")
    assert groups(log) == [[1.0] * 3]
    assert any("all/ beside it has the same rollouts" in note for note in log.notes)
    assert any("1 eval file left out" in note for note in log.notes)
    assert groups(opened(tmp_path / "rollouts" / "step_1" / "train" / "effective")) == [[1.0] * 2]


def test_home_made_groups_are_read(tmp_path):
    nested = {"problem_id": "p", "rollouts": [{"correct": True, "text": "x"}, {"correct": False, "text": "y"}]}
    log = opened(jsonl(tmp_path / "a.jsonl", nested, {**nested, "problem_id": "q", "rollouts": []}))
    assert (reward(log), groups(log)) == (["rollouts[].correct"], [[1.0, 0.0]])
    listed = {"prompt": "p", "completions": ["x", "y"], "rewards": [1, 0.5]}
    assert groups(opened(jsonl(tmp_path / "b.jsonl", listed))) == [[1.0, 0.5]]


# rows


def test_prime_rl_a_problem_drawn_twice_in_a_step_is_split_by_the_group_size(tmp_path):
    row = {
        "run_id": "r",
        "step": 1,
        "env_name": "e",
        "problem_id": 4,
        "sample_id": 0,
        "prompt": "[]",
        "completion": "[]",
    }
    path = jsonl(tmp_path / "x.jsonl", *({**row, "reward": float(at)} for at in range(4)))
    assert groups(opened(path)) == [[0.0, 1.0, 2.0, 3.0]]
    assert groups(opened(path, group_size=2)) == [[0.0, 1.0], [2.0, 3.0]]


def test_verifiers_of_2025_and_ids_that_are_another_for_each_row(tmp_path):
    def row(number, prompt, reward=1.0):
        return {"id": number, "prompt": prompt, "completion": "c", "task": "t", "answer": "a", "reward": reward}

    old = opened(jsonl(tmp_path / "a.jsonl", *(row(number, "p", float(number)) for number in (0, 0, 1, 1))))
    assert (old.reading.layout.name, old.reading.key_names, len(groups(old))) == ("verifiers", ["id"], 2)
    fresh = opened(jsonl(tmp_path / "b.jsonl", *(row(number, "pq"[number // 2]) for number in range(4))))
    assert (fresh.reading.key_names, len(groups(fresh))) == (["prompt"], 2)


def test_verifiers_of_prime_rl_takes_its_step_from_the_folder(tmp_path):
    row = {"example_id": 1, "prompt": [], "completion": [], "reward": 1.0, "metrics": {}}
    for step in (2, 10):
        jsonl(tmp_path / "run" / f"step_{step}" / "train_rollouts.jsonl", row, row)
    log = opened(tmp_path / "run")
    assert log.groups.named["step"].to_list() == [2, 10]


def test_nemo_gym_lines_that_are_no_rollouts(tmp_path):
    row = {"responses_create_params": {"input": "a"}, "response": {}, "reward": 1.0}
    path = jsonl(tmp_path / "x.jsonl", {"detail": []}, row, "an exception", {**row, "reward": 0.0})
    with pytest.raises(InputError, match=r"x.jsonl:3: a string where a JSON object is needed"):
        opened(path)
    log = opened(path, on_bad_line="skip")
    assert groups(log) == [[1.0, 0.0]]
    assert any("skipped 1 record without a key" in note for note in log.notes)
    assert log.locate(1)[1] == 4
    assert log.missing == {"reward": {}}


def test_nemo_gym_prompt_as_text_or_messages_with_mixed_columns_beside(tmp_path):
    rows = [{"responses_create_params": {"input": text, "seed": at}, "reward": 1.0, "want": want}
            for at, (text, want) in enumerate([("a", "x"), ("a", ["x"]), ([{"content": "b"}], None)])]  # fmt: skip
    assert [len(group) for group in groups(opened(jsonl(tmp_path / "x.jsonl", *rows)))] == [2, 1]


def test_skyrl_scores_per_token_are_summed_and_it_is_said(tmp_path):
    row = {"input_prompt": "a", "output_response": "o"}
    path = jsonl(
        tmp_path / "global_step_8_evals" / "m.jsonl", {**row, "score": [0.0, 1.0]}, {**row, "score": [0.25, 0.25, 0.5]}
    )
    log = opened(path)
    assert (reward(log), groups(log)) == (["score[sum]"], [[1.0, 1.0]])
    assert "summed over its elements" in log.reading.why["reward"]
    assert groups(opened(path, reward=["score[-1]"])) == [[1.0, 0.5]]


def test_areal_step_is_the_folder_and_not_the_version_of_a_row(tmp_path):
    row = {"task_id": 5, "sample_idx": 0, "seqlen": 9, "reward": 1.0, "prompt": "p", "completion": "c"}
    path = jsonl(tmp_path / "dump" / "12" / "5.jsonl", {**row, "tail_version": 11}, {**row, "tail_version": 12})
    log = opened(path)
    assert groups(log) == [[1.0, 1.0]]
    assert log.groups.named["step"].to_list() == [12]


def test_open_instruct_length_is_that_of_the_tokens(tmp_path):
    row = {"step": 1, "sample_idx": 0, "prompt_idx": 0, "reward": 1.0}
    for suffix, write in ((".jsonl", jsonl), (".parquet", parquet)):
        path = write(tmp_path / f"x{suffix}", {**row, "response_tokens": [1, 2, 3]}, {**row, "response_tokens": [4]})
        assert opened(path, roles=("length",)).frame["length"].to_list() == [3.0, 1.0]


def test_tinker_training_beside_evaluation(tmp_path):
    row = {"group_idx": 0, "traj_idx": 0, "iteration": 4, "final_reward": 0.0}
    for name, total in (("train", 1.0), ("eval_math", 0.5)):
        jsonl(tmp_path / "iteration_000004" / f"{name}_rollout_summaries.jsonl", {**row, "total_reward": total})
    assert groups(opened(tmp_path / "iteration_000004")) == [[1.0]]


def test_lm_eval_with_several_metrics_asks(tmp_path):
    row = {
        "doc_id": 0,
        "doc": {},
        "resps": [["a"]],
        "filtered_resps": ["a"],
        "filter": "none",
        "acc": 1.0,
        "acc_norm": 0.0,
    }
    path = jsonl(tmp_path / "samples_x.jsonl", {**row, "metrics": ["acc", "acc_norm"]})
    with pytest.raises(InputError, match="acc, acc_norm"):
        opened(path)
    assert groups(opened(path, reward=["acc"])) == [[1.0]]


def test_lighteval_metrics_of_several_names_ask(tmp_path):
    row = {"doc": {"id": "1"}, "metric": {"pass@k:k=1": 1.0, "maj@4": 0.0}, "model_response": {"text": ["a"]}}
    with pytest.raises(InputError, match="2 fields may be rewards") as error:
        opened(parquet(tmp_path / "x.parquet", row))
    assert "'metric.pass@k:k=1=1'" in error.value.hint or '"pass@k:k=1"' in error.value.hint


def test_a_layout_that_is_asked_for_is_taken(written, base):
    path = written("verl", [replace(row, step=1) for row in base])
    assert opened(path, layout="plain").reading.layout.name == "plain"
    with pytest.raises(UsageError, match="there is no layout 'verll'") as error:
        opened(path, layout="verll")
    assert "verl" in error.value.hint


def test_nemo_rl_rewards_that_are_not_the_row_s_are_refused(tmp_path):
    rows = [{**nemo_rl_row(at, 0.0), "rewards": [0.0, 1.0]} for at in range(4)]
    with pytest.raises(InputError, match=r"train_data_step1.jsonl:1: rewards\[\] has 2 elements"):
        opened(jsonl(tmp_path / "train_data_step1.jsonl", *rows), group_size=2)


def test_a_condition_over_a_column_of_a_table_is_one_over_rollouts(tmp_path):
    line = {**swift_line("1", ["a", "a"], acc=[1.0, 0.0]), "num_turns": [1, 9]}
    path = jsonl(tmp_path / "completions.jsonl", line)
    log = open_log(find([str(path)]), Asked(), Selection(unscored_if="num_turns > 5"))
    assert log.frame["scored"].to_list() == [True, False]


def test_a_torn_file_does_not_hinder_the_steps_before_it(tmp_path):
    for step in (1, 2):
        parquet(tmp_path / "d" / f"completions_{step:05d}.parquet", trl_row(step, acc=1.0), trl_row(step, acc=0.0))
    torn = tmp_path / "d" / "completions_00003.parquet"
    torn.write_bytes((tmp_path / "d" / "completions_00001.parquet").read_bytes()[:-20])
    assert groups(opened(tmp_path / "d", steps="1:2")) == [[1.0, 0.0]] * 2
    with pytest.raises(InputError, match=r"completions_00003.parquet: the file is cut short"):
        opened(tmp_path / "d")


def test_rewards_and_completions_that_are_not_as_many_are_refused(tmp_path):
    path = jsonl(tmp_path / "x.jsonl", {"prompt": "p", "completions": ["a", "b"], "rewards": [1.0]})
    with pytest.raises(InputError, match=r"2 in completions\[\], and 1 in rewards\[\]"):
        opened(path)


def test_trajectories_under_another_name_of_the_reward_ask(tmp_path):
    path = jsonl(tmp_path / "0001.jsonl", {"trajectories": [{"final_reward": 1.0}, {"final_reward": 0.0}]})
    with pytest.raises(InputError, match="no field holds a reward") as error:
        opened(path)
    assert "trajectories[].final_reward" in error.value.hint
    assert groups(opened(path, reward=["final_reward"])) == [[1.0, 0.0]]


def test_groups_without_any_rollout_are_no_log(tmp_path):
    with pytest.raises(InputError, match="there is no rollout in it"):
        opened(jsonl(tmp_path / "0001.jsonl", {"trajectories": []}))


def test_a_uid_of_another_kind_is_passed_over_and_it_is_said(tmp_path):
    log = opened(jsonl(tmp_path / "1.jsonl", *(verl_row(uid=f"row-{at}") for at in range(4))))
    assert log.reading.key_names == ["input"]
    assert "uid is another for each row" in log.reading.why["key"]
