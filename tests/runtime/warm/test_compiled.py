"""What an engine has compiled goes to later pods by an archive on the cache volume, whole or not at all."""

import io
import os
import tarfile
import threading
from pathlib import Path

import pytest

from arriero_runtime.server import compiled
from arriero_runtime.server.compiled import Compiled

KERNEL = "vllm/torch_compile_cache/abc/rank_0_0/model"


def pod(volume: Path, name: str, *, model: str = "hf://org/tiny", flags: tuple[str, ...] = ()) -> Compiled:
    """The caches as one pod sees them; pods of one name have one folder."""
    return Compiled(volume, volume.parent / name, model, flags, ("vllm 1",))


def compile_in(one: Compiled, text: str = "code", name: str = KERNEL) -> Path:
    file = one.work / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    folder = tmp_path / "volume"
    folder.mkdir()
    return folder


def test_a_later_pod_finds_what_an_earlier_one_has_compiled(volume: Path) -> None:
    first, second = pod(volume, "a"), pod(volume, "b")
    assert not first.fill()
    made = compile_in(first)
    made.chmod(0o755)
    os.utime(made, (1_000_000_000, 1_000_000_000))
    first.keep()
    assert second.fill()
    found = second.work / KERNEL
    assert found.read_text() == "code"
    assert os.access(found, os.X_OK)
    assert found.stat().st_mtime == 1_000_000_000  # build tools compare times


def test_nothing_on_the_volume_is_written_in_place(volume: Path) -> None:
    first, second = pod(volume, "a"), pod(volume, "b")
    compile_in(first)
    first.keep()
    second.fill()
    held = second.place.open("rb")
    before = held.read()
    compile_in(second, "more", "triton/x.so")
    second.keep()
    with held:
        held.seek(0)
        assert held.read() == before
    third = pod(volume, "c")
    assert third.fill()
    assert (third.work / KERNEL).read_text() == "code"
    assert (third.work / "triton/x.so").read_text() == "more"


def test_pods_that_keep_at_once_leave_one_whole_archive(volume: Path) -> None:
    pods = [pod(volume, f"pod-{number}") for number in range(8)]
    for number, one in enumerate(pods):
        compile_in(one, f"{number}" * 100_000)
    start = threading.Barrier(len(pods))

    def keep(one: Compiled) -> None:
        start.wait(10)
        one.keep()

    threads = [threading.Thread(target=keep, args=(one,)) for one in pods]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [file.name for file in pods[0].place.parent.iterdir()] == [pods[0].place.name]
    later = pod(volume, "later")
    assert later.fill()
    text = (later.work / KERNEL).read_text()
    assert text in {f"{number}" * 100_000 for number in range(8)}


@pytest.mark.parametrize("harm", ["cut", "changed", "empty"])
def test_a_broken_archive_costs_a_start_its_speed_and_is_gone(volume: Path, harm: str) -> None:
    first, second = pod(volume, "a"), pod(volume, "b")
    compile_in(first, "".join(str(n) for n in range(50_000)))
    first.keep()
    whole = first.place.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 0xFF
    first.place.write_bytes({"cut": whole[: len(whole) // 2], "changed": bytes(changed), "empty": b""}[harm])
    assert not second.fill()
    assert not list(second.work.rglob("model"))
    assert not second.place.exists()
    compile_in(second, "anew")
    second.keep()
    assert pod(volume, "c").fill()


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside"])
def test_no_archive_writes_outside_of_the_pods_own_folder(volume: Path, name: str) -> None:
    one = pod(volume, "a")
    one.place.parent.mkdir()
    member = tarfile.TarInfo(name)
    member.size = 1
    with tarfile.open(one.place, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(b"x"))
    assert not one.fill()
    assert not (volume.parent / "outside").exists()


def test_a_link_in_an_archive_is_not_followed(volume: Path) -> None:
    one = pod(volume, "a")
    one.place.parent.mkdir()
    link = tarfile.TarInfo("vllm")
    link.type, link.linkname = tarfile.SYMTYPE, "/tmp"
    with tarfile.open(one.place, "w:gz") as tar:
        tar.addfile(link)
    assert not one.fill()
    assert not (one.work / "vllm").exists()


def test_each_model_set_of_flags_and_version_has_its_own(volume: Path) -> None:
    one = pod(volume, "a")
    others = [
        pod(volume, "a", model="hf://org/other"),
        pod(volume, "a", flags=("--dtype=float32",)),
        Compiled(volume, one.work, one.model, one.flags, ("vllm 2",)),
    ]
    assert len({other.place for other in others} | {one.place}) == 4


def test_old_archives_of_the_model_make_room_and_those_of_others_stay(volume: Path) -> None:
    other = pod(volume, "other", model="hf://org/other")
    compile_in(other)
    other.keep()
    ages = []
    for number in range(compiled.KEPT + 2):
        one = pod(volume, f"pod-{number}", flags=(f"--seed={number}",))
        compile_in(one)
        one.keep()
        os.utime(one.place, (number, number)) if one.place.exists() else None
        ages.append(one)
    last = pod(volume, "last", flags=("--seed=last",))
    compile_in(last)
    last.keep()
    assert other.place.exists()
    assert last.place.exists()
    assert not ages[0].place.exists()
    assert len(list(last.place.parent.glob("*.tar.gz"))) == compiled.KEPT + 1


def test_a_start_that_compiles_nothing_new_writes_nothing(volume: Path) -> None:
    first, second = pod(volume, "a"), pod(volume, "b")
    compile_in(first)
    first.keep()
    inode = first.place.stat().st_ino
    second.fill()
    second.keep()
    assert first.place.stat().st_ino == inode


def test_a_container_that_starts_anew_goes_on_with_its_own(volume: Path) -> None:
    first, second = pod(volume, "a"), pod(volume, "b")
    compile_in(first)
    first.keep()
    second.claim()
    compile_in(second, "newer")
    anew = pod(volume, "b")
    anew.claim()
    assert anew.fill()
    assert (anew.work / KERNEL).read_text() == "newer"


def test_what_a_look_at_the_model_has_left_does_not_stand_in_the_way_of_an_earlier_pods(volume: Path) -> None:
    first, second = pod(volume, "a"), pod(volume, "b")
    compile_in(first)
    first.keep()
    second.claim()
    compile_in(second, name="vllm/modelinfos/llama.json")
    assert second.fill()
    assert (second.work / KERNEL).read_text() == "code"


def test_an_archive_has_nothing_of_another_model_that_the_same_pod_served_before(volume: Path) -> None:
    first, other = pod(volume, "a"), pod(volume, "a", model="hf://org/other")
    first.claim()
    compile_in(first)
    first.keep()
    other.claim()
    assert not other.fill()
    compile_in(other, "other", "triton/other.so")
    other.keep()
    with tarfile.open(other.place) as tar:
        assert tar.getnames() == ["triton/other.so"]
    again = pod(volume, "a")
    again.claim()
    assert again.fill()
    assert (again.work / KERNEL).read_text() == "code"
    assert not (again.work / "triton/other.so").exists()


def test_locks_leftovers_and_other_code_are_not_kept(volume: Path) -> None:
    first, second = pod(volume, "a"), pod(volume, "b")
    compile_in(first)
    for name in ("inductor/locks/x.lock", "vllm/model.77.tmp", "huggingface/modules/code.py", "vllm/config/x.json"):
        compile_in(first, name=name)
    first.keep()
    second.fill()
    assert [str(one.relative_to(second.work)) for one in second.work.rglob("*") if one.is_file()] == [KERNEL]


def test_a_volume_that_cannot_be_written_stops_no_start(volume: Path, caplog: pytest.LogCaptureFixture) -> None:
    one = pod(volume, "a")
    (volume / compiled.FOLDER).write_text("in the way")
    assert not one.fill()
    compile_in(one)
    one.keep()
    assert "cannot be kept" in caplog.text


def test_what_is_too_large_for_the_volume_is_not_kept(
    volume: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = pod(volume, "a")
    compile_in(one)
    monkeypatch.setattr(compiled, "LARGEST", 3)
    one.keep()
    assert not one.place.exists()
    assert "is not kept" in caplog.text
